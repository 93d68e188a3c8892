/**
 * What outbound processes let others know of what they keep in memory: how busy each site is, and what stood in the way of a domain lately.
 * Written every few seconds and gone soon after its process; nothing depends on it but explanations, so nobody waits for it: a reader gives
 * up after half a second and says that it is not known.
 */
import { isRedisReady, whenReady, type Redis } from '#src/stores/redis.ts'
import { dueKey, readyKey, siteStateKey, SITES_KEY, suspendedSite, troubleKey } from './keys.ts'
import { memberOf, type Member } from './member.ts'
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

export interface ToldSite {
  readonly site: string
  readonly state: SiteState
}

/** Why a domain could not be tried lately. */
export interface DomainTrouble {
  readonly reason: string
  readonly detail: string
  readonly atMs: number
  /** The breaker of its site lets nothing through until then. */
  readonly breakerUntilMs: number | null
  /** Times in a row that all its servers failed. */
  readonly failures: number
}

const STATE_MS = 10_000
const TROUBLE_SECONDS = 300
const PATIENCE_MS = 500
/** Of more sites nobody asks for the one. */
const MOST_SITES = 5000

export function nameOf({ messageId, n }: Pick<Member, 'messageId' | 'n'>): string {
  return `${messageId}:${n}`
}

/** One pipeline; lost when Redis is away. */
export async function tellSites(
  redis: Redis,
  process: string,
  told: { readonly sites: readonly ToldSite[]; readonly troubles: ReadonlyMap<string, DomainTrouble> },
): Promise<void> {
  if (!isRedisReady(redis) || told.sites.length + told.troubles.size === 0) return
  const pipeline = redis.pipeline()
  const untilMs = Date.now() + STATE_MS
  for (const { site, state } of told.sites)
    pipeline
      .hset(
        siteStateKey(site),
        state.source === null ? process : `${process} ${state.source}`,
        JSON.stringify({ ...state, untilMs }),
      )
      .pexpire(siteStateKey(site), STATE_MS)
  for (const [domain, trouble] of told.troubles)
    pipeline.set(troubleKey(domain), JSON.stringify(trouble), 'EX', TROUBLE_SECONDS)
  await pipeline.exec()
}

/** Where a recipient stands in Redis, and how it is there. */
export interface Place {
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
  readonly trouble: DomainTrouble | null
}

/** Null when Redis does not tell in time. */
export async function findPlace(redis: Redis, recipient: Member & { readonly tier: Tier }): Promise<Place | null> {
  const late = new Promise<null>((resolve) => setTimeout(resolve, PATIENCE_MS, null).unref())
  const look = async (): Promise<Place | null> =>
    (await whenReady(redis, PATIENCE_MS)) ? lookFor(redis, recipient) : null
  return Promise.race([look().catch(() => null), late])
}

async function lookFor(redis: Redis, recipient: Member & { readonly tier: Tier }): Promise<Place> {
  const { tier, domain } = recipient
  const sites = [
    ...new Set([...(await redis.zrange(SITES_KEY, '0', '-1')).slice(0, MOST_SITES), suspendedSite(domain)]),
  ]
  const pipeline = redis.pipeline().zscore(dueKey(tier), memberOf(recipient)).get(troubleKey(domain))
  for (const site of sites) pipeline.zscore(readyKey(site, tier), memberOf(recipient)).hvals(siteStateKey(site))
  const [due, trouble, ...bySite] = valuesOf(await pipeline.exec())
  const found = sites.map((site, i) => ({ site, isReady: bySite[2 * i] != null, states: statesOf(bySite[2 * i + 1]) }))
  const name = nameOf(recipient)
  const waits = found.find(({ states }) => states.some(({ waitingNames }) => waitingNames.includes(name)))
  const here = found.find(({ isReady }) => isReady) ?? waits
  return {
    site: here?.site ?? null,
    isScheduled: due != null,
    states: statesFor(name, here?.states ?? []),
    isWaiting: waits !== undefined,
    ahead: here === undefined ? {} : await countAhead(redis, here.site, tier),
    trouble: parse<DomainTrouble>(trouble),
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
