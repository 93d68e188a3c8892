/**
 * State that outbound processes publish from memory: how busy each site is, and the last failure of a domain. Written
 * every few seconds; it expires soon after its process. Only explanations depend on it, so a reader gives up after half
 * a second and reports it as unknown.
 */
import { isRedisReady, waitUntilReady, type Redis } from '#src/stores/redis.ts'
import {
  dueKey,
  readyKey,
  siteStateKey,
  SITES_KEY,
  suspendedSite,
  domainFailureKey,
  memberOf,
  type ScheduleMember,
} from './keys.ts'
import { TIER_NAMES, type Tier } from './tiers.ts'

/** One site as reached from one source, in one process. */
export interface SiteState {
  /** Open sessions. */
  readonly sessions: number
  /** Limit of open sessions of all processes together. */
  readonly connections: number
  /** No session is free: for instant mail, and for other mail, which leaves some to instant mail. */
  readonly isFull: { readonly instant: boolean; readonly others: boolean }
  /** Name of the rule that sets the limit. */
  readonly rule: string
  /** Key of the throttle (src/shaping/throttle-key.ts). */
  readonly pace: string
  /** Source of the throttle; ANY_SOURCE if all share it. */
  readonly paceSource: string
  /** Null: the system chooses the address. */
  readonly source: string | null
  /** Recipients that wait for a session. */
  readonly waiting: number
  /** The first of them, as `<message id>:<n>`. */
  readonly waitingNames: readonly string[]
}

export interface ReportedSite {
  readonly site: string
  readonly state: SiteState
}

/** The last failure of a domain. */
export interface DomainFailure {
  readonly reason: string
  readonly detail: string
  readonly atMs: number
  /** The circuit breaker of its site is open until then. */
  readonly breakerUntilMs: number | null
  /** Consecutive failures of all its hosts. */
  readonly failures: number
}

const STATE_TTL_MS = 10_000
const FAILURE_TTL_SECONDS = 300
const TIMEOUT_MS = 500
/** Sites searched for a recipient. */
const MAX_SITES = 5000

export function recipientName({ messageId, n }: Pick<ScheduleMember, 'messageId' | 'n'>): string {
  return `${messageId}:${n}`
}

export interface PublishedStates {
  readonly sites: readonly ReportedSite[]
  readonly failures: ReadonlyMap<string, DomainFailure>
  readonly nowMs: number
}

/** Publishes in one pipeline; lost if Redis is unavailable. */
export async function publishSiteStates(redis: Redis, process: string, states: PublishedStates): Promise<void> {
  if (!isRedisReady(redis) || states.sites.length + states.failures.size === 0) return
  const pipeline = redis.pipeline()
  const untilMs = states.nowMs + STATE_TTL_MS
  for (const { site, state } of states.sites)
    pipeline
      .hset(
        siteStateKey(site),
        state.source === null ? process : `${process} ${state.source}`,
        JSON.stringify({ ...state, untilMs }),
      )
      .pexpire(siteStateKey(site), STATE_TTL_MS)
  for (const [domain, failure] of states.failures)
    pipeline.set(domainFailureKey(domain), JSON.stringify(failure), 'EX', FAILURE_TTL_SECONDS)
  await pipeline.exec()
}

/** Position of a recipient in Redis, and the state of its site. */
export interface QueuePosition {
  /** The site where it is ready or waits for a session; null if it is at no site. */
  readonly site: string | null
  /** In the schedule for its due time. */
  readonly isScheduled: boolean
  /** Ready recipients of higher tiers at its site. */
  readonly ahead: Readonly<Partial<Record<Tier, number>>>
  /** State of its site by process and source; for a claimed recipient only that of its source. */
  readonly states: readonly SiteState[]
  /** A process has claimed it and waits for a session. */
  readonly isWaiting: boolean
  readonly failure: DomainFailure | null
}

/** Null if Redis does not answer in time. */
export async function findQueuePosition(
  redis: Redis,
  recipient: ScheduleMember & { readonly tier: Tier },
  nowMs: number,
): Promise<QueuePosition | null> {
  const timeout = new Promise<null>((resolve) => setTimeout(resolve, TIMEOUT_MS, null).unref())
  const read = async (): Promise<QueuePosition | null> =>
    (await waitUntilReady(redis, TIMEOUT_MS)) ? readPosition(redis, recipient, nowMs) : null
  return Promise.race([read().catch(() => null), timeout])
}

async function readPosition(
  redis: Redis,
  recipient: ScheduleMember & { readonly tier: Tier },
  nowMs: number,
): Promise<QueuePosition> {
  const { tier, domain } = recipient
  const sites = [...new Set([...(await redis.zrange(SITES_KEY, '0', '-1')).slice(0, MAX_SITES), suspendedSite(domain)])]
  const pipeline = redis.pipeline().zscore(dueKey(tier), memberOf(recipient)).get(domainFailureKey(domain))
  for (const site of sites) pipeline.zscore(readyKey(site, tier), memberOf(recipient)).hvals(siteStateKey(site))
  const [due, failure, ...bySite] = valuesOf(await pipeline.exec())
  const found = sites.map((site, i) => ({
    site,
    isReady: bySite[2 * i] != null,
    states: statesOf(bySite[2 * i + 1], nowMs),
  }))
  const name = recipientName(recipient)
  const holding = found.find(({ states }) => states.some(({ waitingNames }) => waitingNames.includes(name)))
  const current = found.find(({ isReady }) => isReady) ?? holding
  return {
    site: current?.site ?? null,
    isScheduled: due != null,
    states: statesFor(name, current?.states ?? []),
    isWaiting: holding !== undefined,
    ahead: current === undefined ? {} : await countAhead(redis, current.site, tier),
    failure: parse<DomainFailure>(failure),
  }
}

function statesFor(name: string, states: readonly SiteState[]): readonly SiteState[] {
  const holder = states.find(({ waitingNames }) => waitingNames.includes(name))
  return holder === undefined ? states : states.filter(({ source }) => source === holder.source)
}

async function countAhead(redis: Redis, site: string, tier: Tier): Promise<Partial<Record<Tier, number>>> {
  const higher = TIER_NAMES.slice(0, TIER_NAMES.indexOf(tier))
  const counts = await Promise.all(higher.map((name) => redis.zcard(readyKey(site, name))))
  return Object.fromEntries(higher.map((name, i) => [name, counts[i] ?? 0] as const).filter(([, count]) => count > 0))
}

function valuesOf(replies: readonly (readonly [Error | null, unknown])[] | null): unknown[] {
  return (replies ?? []).map(([error, value]) => {
    if (error !== null) throw error
    return value
  })
}

function statesOf(values: unknown, nowMs: number): SiteState[] {
  const read = Array.isArray(values) ? values.map((value) => parse<SiteState & { untilMs: number }>(value)) : []
  return read.filter((state) => state !== null).filter(({ untilMs }) => untilMs > nowMs)
}

/** Null for invalid text, which another version may have written. */
function parse<T>(text: unknown): T | null {
  try {
    return typeof text === 'string' ? (JSON.parse(text) as T) : null
  } catch {
    return null
  }
}
