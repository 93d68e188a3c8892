/** A runner without stores, and one site whose queue has a share of its throttle. */
import type { ClaimedDelivery, SelectedSource } from '#mta/delivery/session-grant.ts'
import { Runner, type RunnerDeps } from './runner.ts'
import type { SiteQueue } from './site-queue.ts'
import type { SourceQueue } from './source-queue.ts'
import type { Throttle } from '#mta/shaping/throttle.ts'
import type { ClaimedRecipient } from '#src/messages/claim.ts'
import type { Attempt } from '#src/messages/outcome.ts'
import { attemptOf, claimedOf, LEASE, selectedSource, silentContext } from '#test/support/delivery.ts'
import { throttleWith } from '#test/support/throttle.ts'
import { siteQueueOf } from './site-queue.test-data.ts'

export interface SiteAndQueue {
  readonly site: SiteQueue
  readonly queue: SourceQueue
}

export function siteWith(name: string, share = { instant: 20, others: 80 }): SiteAndQueue {
  const site = siteQueueOf(name)
  return { site, queue: site.queueFor(null, throttleWith({ share })) }
}

/** A runner with this many sessions. Deliveries enter a session and are accepted. */
export function runnerWith(sessions = 100, deps: Partial<RunnerDeps> = {}): Runner {
  return new Runner(silentContext({ OUTBOUND_SESSIONS: String(sessions) }), {
    lease: { id: LEASE, isHeld: () => true },
    leased: { drop: () => undefined },
    deliver: async (delivery) => ((await enterSession(delivery)) ? attemptOf() : null),
    handleResult: () => Promise.resolve(),
    release: () => Promise.resolve(),
    isBehind: () => false,
    onFree: () => undefined,
    ...deps,
  })
}

/** Waits for a session, as a delivery does. */
export async function enterSession(delivery: ClaimedDelivery): Promise<boolean> {
  delivery.phase = 'waiting'
  const hasEntered = await delivery.selected.throttle.enter(delivery.claimed.tier)
  delivery.phase = hasEntered ? 'in-session' : 'preparing'
  return hasEntered
}

export interface RunOptions {
  readonly selected?: Partial<SelectedSource>
  readonly waitedMs?: number
}

/**
 * Runs one delivery of the queue; resolves with its attempt, with null when no attempt was made, or with undefined
 * when nothing is to be written.
 */
export async function runOne(
  deps: Partial<RunnerDeps>,
  { site, queue }: SiteAndQueue,
  claimed: ClaimedRecipient = claimedOf({ tier: 'bulk' }),
  { selected = {}, waitedMs = 0 }: RunOptions = {},
): Promise<Attempt | null | undefined> {
  const ended = Promise.withResolvers<Attempt | null | undefined>()
  const runner = runnerWith(100, {
    ...deps,
    handleResult: (_, attempt) => Promise.resolve(ended.resolve(attempt)),
    release: () => Promise.resolve(ended.resolve(null)),
    // called after every delivery, also after one without a result
    onFree: () => setImmediate(() => ended.resolve(undefined)),
  })
  queue.push(deliveryIn(queue.throttle, claimed, { selected, waitedMs }))
  runner.start(site)
  return ended.promise
}

function deliveryIn(throttle: Throttle, claimed: ClaimedRecipient, options: Required<RunOptions>): ClaimedDelivery {
  const { selected, waitedMs } = options
  return {
    claimed,
    site: 'site',
    selected: selectedSource({ throttle, ...selected }),
    heldSinceMs: performance.now() - waitedMs,
    phase: 'preparing',
  }
}
