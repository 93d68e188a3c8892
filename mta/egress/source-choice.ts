/**
 * Chooses the source (local address) that a message leaves from: the best source of its pool that is on this machine,
 * is not paused, is not suspended by the receiver and has warm-up allowance left. Each message has its own ranking of
 * the sources, the same at every retry (source-ranking.ts). Without sources the system chooses the address, and EHLO
 * carries the server's name.
 *
 * The choice precedes the wait for a session, because each source has its own throttle at a receiver. The result has
 * one source of each address family, the family that reaches the receiver first; only a connection attempt shows
 * whether the other is needed.
 */
import type { Attempt } from '#src/messages/outcome.ts'
import { DEFAULT_REGION, REGIONS } from '#config/regions.ts'
import { NO_RUNNING_SOURCE, NO_SOURCE_REASON } from '#src/egress/sources.ts'
import { nextDayMs } from '#src/egress/warm-up.ts'
import { createEgressGroups, type EgressGroups } from './egress-groups.ts'
import { createWarmUpAllowance, type WarmUpAllowance, type WarmUpTicket } from './warm-up-allowance.ts'
import { isOnHost, type IsOnHost } from './address-check.ts'
import { rankSources } from './source-ranking.ts'
import {
  openSourceDirectory,
  type PooledSource,
  type SourceDirectory,
  type SourceDirectoryContext,
} from './source-directory.ts'
import { classifyWarmUpSignal } from './warm-up-signal.ts'
import type { LocalEndpoint } from './local-endpoint.ts'

export interface SourceRequest {
  readonly messageId: string
  readonly pool: string
  /** The receiver that operates the server (src/suppression/receiver.ts); called for a warming source only. */
  readonly receiver: () => string
  /** The address families of the first server; called only where there is a choice. Absent: any family. */
  readonly reachableFamilies?: () => Promise<ReadonlySet<4 | 6>>
  /** Until when the receiver suspended a source (epoch ms); null: it did not. Absent: no source is suspended. */
  readonly suspendedUntil?: (source: string) => number | null
}

export type SourceChoice =
  /** The best source of each family, the better first. */
  | { readonly kind: 'endpoints'; readonly endpoints: readonly LocalEndpoint[]; readonly finish: FinishChoice }
  | { readonly kind: 'wait'; readonly detail: string; readonly untilMs: number }

/** Must be called once, with the attempt; null: no attempt was made. */
type FinishChoice = (attempt: Attempt | null) => void

export interface Egress {
  /** The endpoint for mail whose address the system chooses. */
  readonly system: LocalEndpoint
  /** False when no pool has a source: the system then chooses the address of all mail. */
  readonly hasSources: boolean
  /** Names of the sources that may send, in any pool. */
  readonly sources: readonly string[]
  /** Which pools only some processes can send for. */
  readonly groups: EgressGroups
  choose(leaving: SourceRequest): SourceChoice | Promise<SourceChoice>
  /**
   * Checks which addresses are on this machine, after a connection failed as if one were not. A lost one is not chosen.
   */
  recheckAddresses(): Promise<void>
  /** True when a source may not send any more: its address left this machine, or the operator paused or removed it. */
  isUnavailable(source: string | null): boolean
  /** Calls `act` for each address that is found to have left this machine. */
  onAddressLost(act: (address: string) => void): void
  stop(): Promise<void>
}

/** Retry interval without a usable source: one may be resumed, be added or come back at any time. */
const NO_SOURCE_RETRY_MS = 60_000
/** Longest retry interval while the receiver has suspended all sources. */
const SUSPENDED_RETRY_MS = 600_000
/**
 * Longest retry interval while the warm-up allowance is used up: another process may return what it does not use, and
 * sources may be added. The next day has a new allowance.
 */
const WARM_UP_RETRY_MS = 3_600_000

interface EgressState {
  readonly ctx: SourceDirectoryContext
  readonly directory: SourceDirectory
  readonly allowance: WarmUpAllowance
}

/** @throws when PostgreSQL is away. */
export async function startEgress(ctx: SourceDirectoryContext, isLocal: IsOnHost = isOnHost): Promise<Egress> {
  const directory = await openSourceDirectory(ctx, isLocal)
  const state: EgressState = { ctx, directory, allowance: createWarmUpAllowance(ctx) }
  const system: LocalEndpoint = { source: null, address: null, family: null, ehloName: ctx.config.serverName }
  const groups = createEgressGroups(() => ({
    pools: directory.pools,
    defaultPool: REGIONS[DEFAULT_REGION].pool,
    usable: directory.usable,
  }))
  const systemChoice: SourceChoice = { kind: 'endpoints', endpoints: [system], finish: () => undefined }
  return {
    system,
    get hasSources() {
      return directory.hasSources
    },
    get sources() {
      return directory.usable
    },
    groups,
    choose: (request) => {
      const sources = directory.sourcesOf(request.pool)
      return sources.length === 0 ? systemChoice : chooseAmong(state, sources, request)
    },
    recheckAddresses: () => directory.checkAddresses(),
    isUnavailable: (source) => source !== null && !directory.usable.includes(source),
    onAddressLost: (act) => directory.onAddressLost(act),
    stop: async () => {
      await directory.stop()
      await state.allowance.stop()
    },
  }
}

async function chooseAmong(
  state: EgressState,
  sources: readonly PooledSource[],
  request: SourceRequest,
): Promise<SourceChoice> {
  const { messageId, receiver, suspendedUntil = () => null } = request
  const usable: UsableSource[] = []
  const obstacles: Obstacle[] = []
  const receiverName = sources.some(({ isWarming }) => isWarming) ? receiver() : ''
  for (const source of rankSources(messageId, sources)) {
    if (usable.some((found) => found.source.family === source.family)) continue
    const untilMs = suspendedUntil(source.source)
    const candidate = untilMs === null ? await tryReserve(state, source, receiverName) : suspendedThere(untilMs)
    if ('reason' in candidate) obstacles.push({ ...candidate, reason: `${source.source} ${candidate.reason}` })
    else usable.push(candidate)
  }
  if (usable.length === 0) return waitChoice(state, obstacles, receiverName)
  const endpoints = await reachableFirst(
    usable.map(({ source }) => source),
    request.reachableFamilies,
  )
  return { kind: 'endpoints', endpoints, finish: (attempt) => recordResult(usable, attempt) }
}

async function reachableFirst(
  sources: readonly PooledSource[],
  reachableFamilies: SourceRequest['reachableFamilies'],
): Promise<readonly PooledSource[]> {
  if (sources.length < 2 || reachableFamilies === undefined) return sources
  const families = await reachableFamilies()
  const isReachable = ({ family }: PooledSource): boolean => families.has(family)
  return [...sources.filter(isReachable), ...sources.filter((source) => !isReachable(source))]
}

/** Why a source may not send now. */
interface Obstacle {
  readonly reason: string
  readonly isWarming?: boolean
  readonly isAbsent?: boolean
  /** When the obstacle ends, epoch ms, if it is known. */
  readonly untilMs?: number
}

const IS_WARMING: Obstacle = { reason: 'is warming up', isWarming: true }

function suspendedThere(untilMs: number): Obstacle {
  return { reason: `is suspended at this receiver until ${new Date(untilMs).toISOString()}`, untilMs }
}

/** A source that may send, with its ticket of the warm-up allowance. */
interface UsableSource {
  readonly source: PooledSource
  readonly ticket: WarmUpTicket | null
}

async function tryReserve(
  { directory, allowance }: EgressState,
  source: PooledSource,
  receiver: string,
): Promise<UsableSource | Obstacle> {
  if (source.isPaused) return { reason: 'is paused' }
  if (directory.isAbsent(source.id)) return { reason: 'is not on this machine', isAbsent: true }
  if (!source.isWarming) return { source, ticket: null }
  const ticket = await allowance.reserve(source.id, receiver)
  return ticket === null ? IS_WARMING : { source, ticket }
}

function waitChoice({ ctx }: EgressState, obstacles: readonly Obstacle[], receiver: string): SourceChoice {
  const [now, { retryScale }] = [ctx.clock.now(), ctx.config]
  const head = obstacles.every(({ isAbsent }) => isAbsent) ? NO_RUNNING_SOURCE : NO_SOURCE_REASON
  const detail = `${head} (${obstacles.map(({ reason }) => reason).join(', ')})`
  if (!obstacles.some(({ isWarming }) => isWarming))
    return { kind: 'wait', detail, untilMs: retryAtMs(obstacles, now, retryScale) }
  const nextDay = new Date(nextDayMs(now))
  return {
    kind: 'wait',
    untilMs: Math.min(nextDay.getTime(), now + WARM_UP_RETRY_MS * retryScale),
    detail: `${detail}: today's warm-up allowance for ${receiver} is used up; more from ${nextDay.toISOString()}`,
  }
}

/** Does not wait for the end of a long suspension: a source may be resumed before. */
function retryAtMs(obstacles: readonly Obstacle[], now: number, retryScale: number): number {
  const ends = obstacles.map(({ untilMs }) => untilMs ?? now)
  return Math.max(now + NO_SOURCE_RETRY_MS * retryScale, Math.min(now + SUSPENDED_RETRY_MS * retryScale, ...ends))
}

/** Records the receiver's signal for each warming source that was used, and releases the tickets of the others. */
function recordResult(usable: readonly UsableSource[], attempt: Attempt | null): void {
  for (const { source, ticket } of usable) {
    const signal = attempt === null || attempt.source !== source.source ? null : classifyWarmUpSignal(attempt.outcome)
    if (signal === null) ticket?.release()
    else ticket?.recordSent(signal === 'throttled')
  }
}
