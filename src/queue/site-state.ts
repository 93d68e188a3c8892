/**
 * What outbound processes let others know of what they keep in memory: how busy each site is, and what stood in the way of a domain lately.
 * Written every few seconds and gone soon after its process; nothing depends on it but explanations, so nobody waits for it: a reader gives
 * up after half a second and says that it is not known.
 */
import { isRedisReady, waitUntilReady, type Redis } from '#src/stores/redis.ts'
import { dueKey, readyKey, siteStateKey, SITES_KEY, suspendedSite, domainFailureKey } from './keys.ts'
import { memberOf, type ScheduleMember } from './member.ts'
import { TIER_NAMES, type Tier } from './tiers.ts'

/** One site, as it is reached by one source, as one process sees it. */
export interface SiteState {
  /** Open to it now. */
  readonly sessions: number
  /** Most that may be open, of all processes together. */
  readonly connections: number
  /** No session is free, for instant mail and for all other, which leaves some to it. */
  readonly isFull: { readonly instant: boolean; readonly others: boolean }
  /** What the limit is called. */
  readonly rule: string
  /** What it shares its limits under: src/shaping/throttle-key.ts */
  readonly pace: string
  /** And the source that has the pace; ANY_SOURCE where all share it. */
  readonly paceSource: string
  /** Null: the system chooses the address. */
  readonly source: string | null
  /** How many are held there and wait for a session. */
  readonly waiting: number
  /** The first of them, as `<message id>:<n>`. */
  readonly waitingNames: readonly string[]
}

export interface ReportedSite {
  readonly site: string
  readonly state: SiteState
}

/** Why a domain could not be tried lately. */
export interface DomainFailure {
  readonly reason: string
  readonly detail: string
  readonly atMs: number
  /** The breaker of its site lets nothing through until then. */
  readonly breakerUntilMs: number | null
  /** Times in a row that all its servers failed. */
  readonly failures: number
}

const STATE_TTL_MS = 10_000
const FAILURE_TTL_SECONDS = 300
const TIMEOUT_MS = 500
/** Of more sites nobody asks for the one. */
const MAX_SITES = 5000

export function recipientName({ messageId, n }: Pick<ScheduleMember, 'messageId' | 'n'>): string {
  return `${messageId}:${n}`
}

/** One pipeline; lost when Redis is away. */
export async function publishSiteStates(
  redis: Redis,
  process: string,
  states: { readonly sites: readonly ReportedSite[]; readonly troubles: ReadonlyMap<string, DomainFailure> },
): Promise<void> {
  if (!isRedisReady(redis) || states.sites.length + states.troubles.size === 0) return
  const pipeline = redis.pipeline()
  const untilMs = Date.now() + STATE_TTL_MS
  for (const { site, state } of states.sites)
    pipeline
      .hset(
        siteStateKey(site),
        state.source === null ? process : `${process} ${state.source}`,
        JSON.stringify({ ...state, untilMs }),
      )
      .pexpire(siteStateKey(site), STATE_TTL_MS)
  for (const [domain, failure] of states.troubles)
    pipeline.set(domainFailureKey(domain), JSON.stringify(failure), 'EX', FAILURE_TTL_SECONDS)
  await pipeline.exec()
}

/** Where a recipient stands in Redis, and how it is there. */
export interface QueuePosition {
  /** Where it is ready, or held by a process that waits for a session; null when it is at no site. */
  readonly site: string | null
  /** On the schedule for its due time. */
  readonly isScheduled: boolean
  /** How many of higher tiers are ready at its site. */
  readonly ahead: Readonly<Partial<Record<Tier, number>>>
  /** Its site, one entry for each process that works on it and each source; of a recipient that a process holds only that of its source. */
  readonly states: readonly SiteState[]
  /** A process holds it until a session is free. */
  readonly isWaiting: boolean
  readonly failure: DomainFailure | null
}

/** Null when Redis does not tell in time. */
export async function findQueuePosition(redis: Redis, recipient: ScheduleMember & { readonly tier: Tier }): Promise<QueuePosition | null> {
  const timeout = new Promise<null>((resolve) => setTimeout(resolve, TIMEOUT_MS, null).unref())
  const read = async (): Promise<QueuePosition | null> =>
    (await waitUntilReady(redis, TIMEOUT_MS)) ? readPosition(redis, recipient) : null
  return Promise.race([read().catch(() => null), timeout])
}

async function readPosition(redis: Redis, recipient: ScheduleMember & { readonly tier: Tier }): Promise<QueuePosition> {
  const { tier, domain } = recipient
  const sites = [
    ...new Set([...(await redis.zrange(SITES_KEY, '0', '-1')).slice(0, MAX_SITES), suspendedSite(domain)]),
  ]
  const pipeline = redis.pipeline().zscore(dueKey(tier), memberOf(recipient)).get(domainFailureKey(domain))
  for (const site of sites) pipeline.zscore(readyKey(site, tier), memberOf(recipient)).hvals(siteStateKey(site))
  const [due, failure, ...bySite] = valuesOf(await pipeline.exec())
  const found = sites.map((site, i) => ({ site, isReady: bySite[2 * i] != null, states: statesOf(bySite[2 * i + 1]) }))
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

function statesOf(values: unknown): SiteState[] {
  const read = Array.isArray(values) ? values.map((value) => parse<SiteState & { untilMs: number }>(value)) : []
  return read.filter((state) => state !== null).filter(({ untilMs }) => untilMs > Date.now())
}

/** We wrote it; what another version wrote is no reason to fail. */
function parse<T>(text: unknown): T | null {
  try {
    return typeof text === 'string' ? (JSON.parse(text) as T) : null
  } catch {
    return null
  }
}
