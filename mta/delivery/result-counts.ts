/**
 * Counts results that are committed, and stores the counts every few seconds: deliveries by receiver for the outage
 * guard (src/suppression/outage.ts), deliveries and hard bounces by workspace for its rates (src/workspaces/rates.ts).
 * A hard bounce stores the deliveries in its own transaction, since the guard compares them with it. PostgreSQL away:
 * counts are stored later. The process dies: those of a few seconds are lost, which makes both checks more cautious.
 */
import type { Context } from '#src/context.ts'
import { countResults, type BounceCounts } from '#src/suppression/outage.ts'
import { receiverOf } from '#src/suppression/receiver.ts'
import { addCounts, type WorkspaceCounts } from '#src/workspaces/rates.ts'
import type { DeliveryResult } from './result-writer.ts'

const STORE_INTERVAL_MS = 5000

export interface CommittedCounts {
  count(result: DeliveryResult): void
  /** Returns and clears the deliveries by receiver. The caller calls `restoreDeliveries` if it cannot store them. */
  takeDeliveries(): ReadonlyMap<string, BounceCounts>
  restoreDeliveries(counts: ReadonlyMap<string, BounceCounts>): void
  /** Stores what is left. */
  stop(): Promise<void>
}

type MutableCounts = { -readonly [K in keyof WorkspaceCounts]: WorkspaceCounts[K] }

export function startCommittedCounts(ctx: Pick<Context, 'db' | 'clock' | 'log'>): CommittedCounts {
  let byReceiver = new Map<string, number>()
  let byWorkspace = new Map<string, MutableCounts>()

  const addDeliveries = (receiver: string, by: number): void => {
    byReceiver.set(receiver, (byReceiver.get(receiver) ?? 0) + by)
  }
  const countsOf = (workspaceId: string): MutableCounts => {
    const known = byWorkspace.get(workspaceId) ?? { workspaceId, delivered: 0, hard: 0, complaints: 0 }
    byWorkspace.set(workspaceId, known)
    return known
  }

  function count({ claimed: { workspaceId, domain }, transition: { move, attempt } }: DeliveryResult): void {
    const outcome = attempt?.record.outcome
    if (move === 'deliver') addDeliveries(receiverOf(attempt?.record.host ?? null, domain), 1)
    if (outcome?.kind === 'delivered') countsOf(workspaceId).delivered++
    else if (outcome?.kind === 'bounced' && outcome.isHard) countsOf(workspaceId).hard++
  }
  function takeDeliveries(): ReadonlyMap<string, BounceCounts> {
    const taken = byReceiver
    byReceiver = new Map()
    return new Map([...taken].map(([receiver, delivered]) => [receiver, { delivered, hard: 0 }]))
  }
  function restoreDeliveries(counts: ReadonlyMap<string, BounceCounts>): void {
    for (const [receiver, { delivered }] of counts) addDeliveries(receiver, delivered)
  }
  function restoreWorkspaces(counts: readonly WorkspaceCounts[]): void {
    for (const { workspaceId, delivered, hard } of counts) {
      countsOf(workspaceId).delivered += delivered
      countsOf(workspaceId).hard += hard
    }
  }
  async function store(): Promise<void> {
    const now = new Date(ctx.clock.now())
    const [deliveries, workspaces] = [takeDeliveries(), [...byWorkspace.values()]]
    byWorkspace = new Map()
    await Promise.all([
      countResults(ctx.db, deliveries, now).catch((error: unknown) => {
        restoreDeliveries(deliveries)
        ctx.log.debug({ err: error }, 'failed to store delivery counts; they are stored with the next')
      }),
      addCounts(ctx.db, workspaces, now).catch((error: unknown) => {
        restoreWorkspaces(workspaces)
        ctx.log.debug({ err: error }, 'failed to store the rates of workspaces; they are stored with the next')
      }),
    ])
  }

  const timer = setInterval(() => void store(), STORE_INTERVAL_MS).unref()
  return {
    count,
    takeDeliveries,
    restoreDeliveries,
    stop: () => {
      clearInterval(timer)
      return store()
    },
  }
}
