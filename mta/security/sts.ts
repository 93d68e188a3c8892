/**
 * Which MTA-STS policy a recipient domain has (RFC 8461): known for some minutes in memory, for its max_age in PostgreSQL, else looked for by
 * its TXT record and fetched. A policy that is known holds until it ends, whatever DNS or the policy host say meanwhile (5.1); where none
 * is known, what cannot be fetched is as if it were not there.
 *
 * One search for a domain is under way at a time. Mail waits for a fetch only a moment: then it goes by what is known, and the policy is
 * there for the next. A policy in use is fetched anew every day, so that it does not run out.
 */
import type { Clock } from '#src/clock.ts'
import type { Lookup } from '#src/dns-answer.ts'
import type { Fetched, FetchPolicy } from './sts-fetch.ts'
import { readStsRecord, type StsPolicy } from './sts-policy.ts'
import type { KeptPolicy, StsStore } from './sts-store.ts'

/** `trouble`: why there is no policy although the domain says that it has one. */
export interface StsFound {
  readonly policy: StsPolicy | null
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
  /** How long mail waits for a fetch. */
  readonly patienceMs?: number
}

/** RFC 8461 3.3: after a failed fetch no other for five minutes. */
const KNOWN_MS = 300_000
const MAX_KNOWN = 20_000
const PATIENCE_MS = 4000
const REFRESH_AT_ONCE = 10
/** Nothing else is asked of the policy host of a name. */
const HOST_NAME = /^[a-z0-9_-]+(\.[a-z0-9_-]+)+$/
const SLOW: Fetched = { kind: 'failed', code: 'sts-policy-fetch-error', text: 'the MTA-STS policy has not come yet' }

interface Known extends StsFound {
  readonly kept: KeptPolicy | null
  readonly untilMs: number
}

export function createSts(parts: StsParts): Sts {
  const { clock, store, fetchPolicy, txt, patienceMs = PATIENCE_MS } = parts
  const known = new Map<string, Known>()
  const searches = new Map<string, Promise<Known>>()
  const fetches = new Map<string, Promise<Fetched>>()

  function remember(domain: string, kept: KeptPolicy | null, trouble: StsFound['trouble']): Known {
    const untilMs = Math.min(clock.now() + KNOWN_MS, kept?.expiresAtMs ?? Infinity)
    const entry: Known = { policy: kept, trouble: kept === null ? trouble : null, kept, untilMs }
    known.delete(domain)
    known.set(domain, entry)
    const [oldest] = known.keys()
    if (known.size > MAX_KNOWN && oldest !== undefined) known.delete(oldest)
    return entry
  }

  /** Also what comes after everybody has lost patience is kept. */
  function fetchAndKeep(domain: string, id: string): Promise<Fetched> {
    const pending = fetches.get(domain) ?? fetchPolicy(domain).then(async (fetched) => {
      if (fetched.kind === 'policy') remember(domain, await store.save(domain, { ...fetched.policy, id }), null)
      return fetched
    }).finally(() => fetches.delete(domain))
    fetches.set(domain, pending)
    return pending
  }

  async function search(domain: string): Promise<Known> {
    const before = known.get(domain)
    const [record, stored] = await Promise.all([txt(`_mta-sts.${domain}`), before === undefined ? store.load(domain) : before.kept])
    const live = stored !== null && stored.expiresAtMs > clock.now() ? stored : null
    const id = record.kind === 'found' ? readStsRecord(record.records) : null
    if (id === null || id === live?.id) return remember(domain, live, null)
    const fetched = await withPatience(fetchAndKeep(domain, id), patienceMs)
    return fetched.kind === 'policy' ? known.get(domain) ?? remember(domain, live, null) : remember(domain, live, fetched)
  }

  async function find(domain: string): Promise<StsFound> {
    const entry = known.get(domain)
    if (entry !== undefined && clock.now() < entry.untilMs) return entry
    if (!HOST_NAME.test(domain)) return { policy: null, trouble: null }
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
    const record = await txt(`_mta-sts.${domain}`)
    await fetchAndKeep(domain, (record.kind === 'found' ? readStsRecord(record.records) : null) ?? id)
  }

  return { find, refresh }
}

async function withPatience(fetching: Promise<Fetched>, patienceMs: number): Promise<Fetched> {
  const { promise, resolve } = Promise.withResolvers<Fetched>()
  const timer = setTimeout(() => resolve(SLOW), patienceMs)
  try {
    return await Promise.race([fetching, promise])
  } finally {
    clearTimeout(timer)
  }
}
