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
import type { Lookup } from '#src/net/dns-answer.ts'
import type { Fetched, FetchPolicy } from './sts-fetch.ts'
import { readStsRecord, type StsPolicy } from './sts-policy.ts'
import type { KeptPolicy, StsStore } from './sts-store.ts'

/** `trouble`: why there is no policy although the domain says that it has one. */
export interface StsFound {
  readonly policy: StsPolicy | null
  /** It is being fetched: ask again in a moment. */
  readonly isPending: boolean
  readonly trouble: Extract<Fetched, { kind: 'failed' }> | null
}

export interface Sts {
  find(domain: string): Promise<StsFound>
  /** Fetches what should be fetched again. */
  refresh(): Promise<void>
}

export interface StsParts {
  readonly clock: Clock
  readonly store: StsStore
  readonly fetchPolicy: FetchPolicy
  readonly txt: (name: string) => Promise<Lookup<string>>
  /** How long a search waits for a fetch. */
  readonly patienceMs?: number
}

/** RFC 8461 3.3: after a failed fetch no other for five minutes. */
const KNOWN_MS = 300_000
/** Whoever says that his policy holds no time at all has it fetched for every mail otherwise. */
const LEAST_KNOWN_MS = 60_000
const MAX_KNOWN = 20_000
const PATIENCE_MS = 1000
/** A fetch may wait for its turn among others. */
const MOST_PENDING_MS = 15_000
const REFRESH_AT_ONCE = 10
/** Nothing else is asked of the policy host of a name. */
const HOST_NAME = /^[a-z0-9_-]+(\.[a-z0-9_-]+)+$/
const SLOW = { kind: 'failed', code: 'sts-policy-fetch-error', text: 'the MTA-STS policy has not come yet' } as const

interface Fetch {
  readonly done: Promise<Known>
  readonly beganAtMs: number
}

const NONE: StsFound = { policy: null, isPending: false, trouble: null }
const PENDING: StsFound = { ...NONE, isPending: true }

interface Known extends StsFound {
  readonly kept: KeptPolicy | null
  readonly untilMs: number
}

export function createSts(parts: StsParts): Sts {
  const { clock, store, fetchPolicy, txt, patienceMs = PATIENCE_MS } = parts
  const known = createKnownPolicies(clock)
  const searches = new Map<string, Promise<StsFound>>()
  const fetches = new Map<string, Fetch>()

  /** Also what comes after everybody has lost patience is kept. `live`: what holds as long as nothing newer has come. */
  function fetchAndKeep(domain: string, id: string, live: KeptPolicy | null): Fetch {
    const pending = fetches.get(domain) ?? { done: fetchOnce(domain, id, live), beganAtMs: clock.now() }
    fetches.set(domain, pending)
    return pending
  }

  async function fetchOnce(domain: string, id: string, live: KeptPolicy | null): Promise<Known> {
    try {
      const fetched = await fetchPolicy(domain)
      if (fetched.kind === 'policy') return known.set(domain, await store.save(domain, { ...fetched.policy, id }), null)
      return known.set(domain, live, fetched)
    } finally {
      fetches.delete(domain)
    }
  }

  async function search(domain: string): Promise<StsFound> {
    const before = known.get(domain)
    const [record, stored] = await Promise.all([
      txt(`_mta-sts.${domain}`),
      before === undefined ? store.load(domain) : before.kept,
    ])
    // a fetch that was under way may have ended meanwhile
    const newer = known.get(domain)
    if (newer !== undefined && newer !== before) return newer
    const live = stored !== null && stored.expiresAtMs > clock.now() ? stored : null
    const id = record.kind === 'found' ? readStsRecord(record.records) : null
    if (id === null || id === live?.id) return known.set(domain, live, null)
    const { done, beganAtMs } = fetchAndKeep(domain, id, live)
    const fetched = await withPatience(done, patienceMs)
    if (fetched !== null) return fetched
    return live === null && clock.now() - beganAtMs < MOST_PENDING_MS ? PENDING : known.set(domain, live, SLOW)
  }

  async function find(domain: string): Promise<StsFound> {
    const entry = known.get(domain)
    if (entry !== undefined && clock.now() < entry.untilMs) return entry
    if (!HOST_NAME.test(domain)) return NONE
    const pending = searches.get(domain) ?? search(domain).finally(() => searches.delete(domain))
    searches.set(domain, pending)
    return pending
  }

  async function refresh(): Promise<void> {
    const due = await store.claimDue()
    while (due.length > 0) await Promise.all(due.splice(0, REFRESH_AT_ONCE).map(refreshOne))
  }

  /** With the id of now, so that mail does not fetch it once more. */
  async function refreshOne({ domain, id }: { domain: string; id: string }): Promise<void> {
    const [record, live] = await Promise.all([txt(`_mta-sts.${domain}`), store.load(domain)])
    await fetchAndKeep(domain, (record.kind === 'found' ? readStsRecord(record.records) : null) ?? id, live).done
  }

  return { find, refresh }
}

interface KnownPolicies {
  get(domain: string): Known | undefined
  /** Returns the new entry. `kept`: the policy in force, `trouble`: why there is none. */
  set(domain: string, kept: KeptPolicy | null, trouble: StsFound['trouble']): Known
}

/** What is known in memory, for some minutes each. At most MAX_KNOWN entries: the oldest goes first. */
function createKnownPolicies(clock: Clock): KnownPolicies {
  const known = new Map<string, Known>()
  return {
    get: (domain) => known.get(domain),
    set(domain, kept, trouble) {
      const untilMs = Math.min(
        clock.now() + KNOWN_MS,
        Math.max(clock.now() + LEAST_KNOWN_MS, kept?.expiresAtMs ?? Infinity),
      )
      const entry: Known = { policy: kept, isPending: false, trouble: kept === null ? trouble : null, kept, untilMs }
      known.delete(domain)
      known.set(domain, entry)
      const [oldest] = known.keys()
      if (known.size > MAX_KNOWN && oldest !== undefined) known.delete(oldest)
      return entry
    },
  }
}

/** Null when it takes longer. */
async function withPatience<T>(work: Promise<T>, patienceMs: number): Promise<T | null> {
  const { promise, resolve } = Promise.withResolvers<null>()
  const timer = setTimeout(() => resolve(null), patienceMs)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}
