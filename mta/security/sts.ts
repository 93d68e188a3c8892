/**
 * Finds the MTA-STS policy of a recipient domain (RFC 8461): in memory for some minutes, in PostgreSQL for its max_age,
 * else by its TXT record and an HTTPS fetch. A known policy applies until it expires, whatever DNS or the policy host
 * answer meanwhile (5.1). If none is known, a failed fetch counts as no policy. One search for a domain runs at a time.
 * It waits for the fetch only briefly, so that policy hosts that hang block no mail of others: then an older policy
 * applies, or the result is pending until the fetch fails or takes too long. Policies in use are refreshed daily,
 * before they expire.
 */
import type { Clock } from '#src/platform/clock.ts'
import type { DnsAnswer } from '#src/net/dns-answer.ts'
import type { StsFetchResult, FetchPolicy } from './sts-fetch.ts'
import { readStsRecord, type StsPolicy } from './sts-policy.ts'
import type { StoredStsPolicy, StsStore } from './sts-store.ts'

/** `failure`: why there is no policy although the domain announces one. */
export interface StsResult {
  readonly policy: StsPolicy | null
  /** The policy is being fetched: ask again shortly. */
  readonly isPending: boolean
  readonly failure: Extract<StsFetchResult, { kind: 'failed' }> | null
}

export interface Sts {
  find(domain: string): Promise<StsResult>
  /** Fetches the policies that are due for a refresh. */
  refresh(): Promise<void>
}

export interface StsDeps {
  readonly clock: Clock
  readonly store: StsStore
  readonly fetchPolicy: FetchPolicy
  readonly txt: (name: string) => Promise<DnsAnswer<string>>
  /** How long a search waits for a fetch. */
  readonly fetchWaitMs?: number
}

/** RFC 8461 3.3: no new fetch for five minutes after a failed one. */
const KNOWN_MS = 300_000
/** Prevents a fetch for every message if max_age is very short. */
const MIN_KNOWN_MS = 60_000
const MAX_KNOWN = 20_000
const FETCH_WAIT_MS = 1000
/** A fetch may wait for a free slot. */
const MAX_PENDING_MS = 15_000
const REFRESH_CONCURRENCY = 10
/** Only such names can have a policy host. */
const HOST_NAME = /^[a-z0-9_-]+(\.[a-z0-9_-]+)+$/
const SLOW = { kind: 'failed', code: 'sts-policy-fetch-error', text: 'the MTA-STS policy has not arrived yet' } as const

interface PendingFetch {
  readonly done: Promise<KnownPolicy>
  readonly beganAtMs: number
}

const NONE: StsResult = { policy: null, isPending: false, failure: null }
const PENDING: StsResult = { ...NONE, isPending: true }

interface KnownPolicy extends StsResult {
  readonly stored: StoredStsPolicy | null
  readonly untilMs: number
}

export function createSts(deps: StsDeps): Sts {
  const { clock, store, fetchPolicy, txt, fetchWaitMs = FETCH_WAIT_MS } = deps
  const known = createKnownPolicies(clock)
  const searches = new Map<string, Promise<StsResult>>()
  const fetches = new Map<string, PendingFetch>()

  /** Stores the result even if every search has stopped waiting. `live`: the policy that applies until then. */
  function fetchAndStore(domain: string, id: string, live: StoredStsPolicy | null): PendingFetch {
    const pending = fetches.get(domain) ?? { done: fetchOnce(domain, id, live), beganAtMs: clock.now() }
    fetches.set(domain, pending)
    return pending
  }

  async function fetchOnce(domain: string, id: string, live: StoredStsPolicy | null): Promise<KnownPolicy> {
    try {
      const fetched = await fetchPolicy(domain)
      if (fetched.kind === 'policy') return known.set(domain, await store.save(domain, { ...fetched.policy, id }), null)
      return known.set(domain, live, fetched)
    } finally {
      fetches.delete(domain)
    }
  }

  async function search(domain: string): Promise<StsResult> {
    const before = known.get(domain)
    const [record, stored] = await Promise.all([
      txt(`_mta-sts.${domain}`),
      before === undefined ? store.load(domain) : before.stored,
    ])
    // a running fetch may have ended meanwhile
    const newer = known.get(domain)
    if (newer !== undefined && newer !== before) return newer
    const live = stored !== null && stored.expiresAtMs > clock.now() ? stored : null
    const id = record.kind === 'found' ? readStsRecord(record.records) : null
    if (id === null || id === live?.id) return known.set(domain, live, null)
    const { done, beganAtMs } = fetchAndStore(domain, id, live)
    const fetched = await withTimeout(done, fetchWaitMs)
    if (fetched !== null) return fetched
    return live === null && clock.now() - beganAtMs < MAX_PENDING_MS ? PENDING : known.set(domain, live, SLOW)
  }

  async function find(domain: string): Promise<StsResult> {
    const entry = known.get(domain)
    if (entry !== undefined && clock.now() < entry.untilMs) return entry
    if (!HOST_NAME.test(domain)) return NONE
    const pending = searches.get(domain) ?? search(domain).finally(() => searches.delete(domain))
    searches.set(domain, pending)
    return pending
  }

  async function refresh(): Promise<void> {
    const due = await store.claimDue()
    while (due.length > 0) await Promise.all(due.splice(0, REFRESH_CONCURRENCY).map(refreshOne))
  }

  /** Uses the id of the current TXT record, so that the next message does not fetch it again. */
  async function refreshOne({ domain, id }: { domain: string; id: string }): Promise<void> {
    const [record, live] = await Promise.all([txt(`_mta-sts.${domain}`), store.load(domain)])
    await fetchAndStore(domain, (record.kind === 'found' ? readStsRecord(record.records) : null) ?? id, live).done
  }

  return { find, refresh }
}

interface KnownPolicies {
  get(domain: string): KnownPolicy | undefined
  /** Returns the new entry. `stored`: the policy in force; `failure`: why there is none. */
  set(domain: string, stored: StoredStsPolicy | null, failure: StsResult['failure']): KnownPolicy
}

/** Policies in memory, for some minutes each. At most MAX_KNOWN entries; the oldest is removed first. */
function createKnownPolicies(clock: Clock): KnownPolicies {
  const known = new Map<string, KnownPolicy>()
  return {
    get: (domain) => known.get(domain),
    set(domain, stored, failure) {
      const untilMs = Math.min(
        clock.now() + KNOWN_MS,
        Math.max(clock.now() + MIN_KNOWN_MS, stored?.expiresAtMs ?? Infinity),
      )
      const entry: KnownPolicy = {
        policy: stored,
        isPending: false,
        failure: stored === null ? failure : null,
        stored,
        untilMs,
      }
      known.delete(domain)
      known.set(domain, entry)
      const [oldest] = known.keys()
      if (known.size > MAX_KNOWN && oldest !== undefined) known.delete(oldest)
      return entry
    },
  }
}

/** Null if the work takes longer. */
async function withTimeout<T>(work: Promise<T>, timeoutMs: number): Promise<T | null> {
  const { promise, resolve } = Promise.withResolvers<null>()
  const timer = setTimeout(() => resolve(null), timeoutMs)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}
