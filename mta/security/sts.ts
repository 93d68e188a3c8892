/**
 * Which MTA-STS policy a recipient domain has (RFC 8461): known for some minutes in memory, for its max_age in PostgreSQL, else looked for by
 * its TXT record and fetched. A policy that is known holds until it ends, whatever DNS or the policy host say meanwhile (5.1); where none
 * is known, what cannot be fetched is as if it were not there.
 *
 * One search for a domain is under way at a time. A search waits for a fetch only a moment, so that policy hosts that hang hold nobody's
 * place: then an older policy serves, or the answer is that it is pending, until the fetch has taken too long and is as if it had failed.
 * A policy in use is fetched anew every day, so that it does not run out.
 */
import type { Clock } from '#src/platform/clock.ts'
import type { DnsAnswer } from '#src/net/dns-answer.ts'
import type { StsFetchResult, FetchPolicy } from './sts-fetch.ts'
import { readStsRecord, type StsPolicy } from './sts-policy.ts'
import type { StoredStsPolicy, StsStore } from './sts-store.ts'

/** `trouble`: why there is no policy although the domain says that it has one. */
export interface StsResult {
  readonly policy: StsPolicy | null
  /** It is being fetched: ask again in a moment. */
  readonly isPending: boolean
  readonly failure: Extract<StsFetchResult, { kind: 'failed' }> | null
}

export interface Sts {
  find(domain: string): Promise<StsResult>
  /** Fetches what should be fetched again. */
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

/** RFC 8461 3.3: after a failed fetch no other for five minutes. */
const KNOWN_MS = 300_000
/** Whoever says that his policy holds no time at all has it fetched for every mail otherwise. */
const MIN_KNOWN_MS = 60_000
const MAX_KNOWN = 20_000
const FETCH_WAIT_MS = 1000
/** A fetch may wait for its turn among others. */
const MAX_PENDING_MS = 15_000
const REFRESH_CONCURRENCY = 10
/** Nothing else is asked of the policy host of a name. */
const HOST_NAME = /^[a-z0-9_-]+(\.[a-z0-9_-]+)+$/
const SLOW = { kind: 'failed', code: 'sts-policy-fetch-error', text: 'the MTA-STS policy has not come yet' } as const

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

  /** Also what comes after everybody has lost patience is kept. `live`: what holds as long as nothing newer has come. */
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
    // a fetch that was under way may have ended meanwhile
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

  /** With the id of now, so that mail does not fetch it once more. */
  async function refreshOne({ domain, id }: { domain: string; id: string }): Promise<void> {
    const [record, live] = await Promise.all([txt(`_mta-sts.${domain}`), store.load(domain)])
    await fetchAndStore(domain, (record.kind === 'found' ? readStsRecord(record.records) : null) ?? id, live).done
  }

  return { find, refresh }
}

interface KnownPolicies {
  get(domain: string): KnownPolicy | undefined
  /** Returns the new entry. `kept`: the policy in force, `trouble`: why there is none. */
  set(domain: string, stored: StoredStsPolicy | null, failure: StsResult['failure']): KnownPolicy
}

/** What is known in memory, for some minutes each. At most MAX_KNOWN entries: the oldest goes first. */
function createKnownPolicies(clock: Clock): KnownPolicies {
  const known = new Map<string, KnownPolicy>()
  return {
    get: (domain) => known.get(domain),
    set(domain, stored, failure) {
      const untilMs = Math.min(
        clock.now() + KNOWN_MS,
        Math.max(clock.now() + MIN_KNOWN_MS, stored?.expiresAtMs ?? Infinity),
      )
      const entry: KnownPolicy = { policy: stored, isPending: false, failure: stored === null ? failure : null, stored, untilMs }
      known.delete(domain)
      known.set(domain, entry)
      const [oldest] = known.keys()
      if (known.size > MAX_KNOWN && oldest !== undefined) known.delete(oldest)
      return entry
    },
  }
}

/** Null when it takes longer. */
async function withTimeout<T>(work: Promise<T>, timeoutMs: number): Promise<T | null> {
  const { promise, resolve } = Promise.withResolvers<null>()
  const timer = setTimeout(() => resolve(null), timeoutMs)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}
