/**
 * A cache of DNS lookups: found records for their TTL within bounds, empty results for a minute, failures for seconds
 * (longer after each failure in a row), so that a dead name server is not queried for every message. Concurrent
 * lookups of one name share one query. The least recently used entries are evicted when the cache is full.
 */
import type { Clock } from '#src/platform/clock.ts'
import type { TimedDnsAnswer, DnsAnswer } from '#src/net/dns-answer.ts'

export interface CacheOptions<T> {
  readonly clock: Clock
  readonly ask: (name: string) => Promise<TimedDnsAnswer<T>>
  /** Where DNS gives no TTL. */
  readonly fixedSeconds: number
  readonly max?: number
}

const MAX_ENTRIES = 20_000
const MIN_FOUND_SECONDS = 30
const MAX_FOUND_SECONDS = 3600
const NOTHING_SECONDS = 60
const FIRST_FAILED_SECONDS = 5
const MAX_FAILED_SECONDS = 30

interface Entry<T> {
  readonly lookup: DnsAnswer<T>
  readonly until: number
  /** Failures in a row. */
  readonly failures: number
}

/** Returns the lookup with its cache in front. */
export function createLookupCache<T>({
  clock,
  ask,
  fixedSeconds,
  max = MAX_ENTRIES,
}: CacheOptions<T>): (name: string) => Promise<DnsAnswer<T>> {
  const entries = new Map<string, Entry<T>>()
  const inFlight = new Map<string, Promise<DnsAnswer<T>>>()

  async function queryAndCache(name: string): Promise<DnsAnswer<T>> {
    const answer = await ask(name)
    const failures = answer.kind === 'failed' ? (entries.get(name)?.failures ?? 0) + 1 : 0
    const lookup = lookupOf(answer)
    entries.delete(name)
    entries.set(name, { lookup, failures, until: clock.now() + 1000 * secondsOf(answer, failures, fixedSeconds) })
    const [oldest] = entries.keys()
    if (entries.size > max && oldest !== undefined) entries.delete(oldest)
    return lookup
  }

  return async (name) => {
    const entry = entries.get(name)
    if (entry !== undefined && clock.now() < entry.until) {
      entries.delete(name)
      entries.set(name, entry)
      return entry.lookup
    }
    const pending = inFlight.get(name) ?? queryAndCache(name).finally(() => inFlight.delete(name))
    inFlight.set(name, pending)
    return pending
  }
}

function lookupOf<T>(answer: TimedDnsAnswer<T>): DnsAnswer<T> {
  if (answer.kind !== 'found') return answer
  return {
    kind: 'found',
    records: answer.records,
    ...(answer.isSecure === undefined ? {} : { isSecure: answer.isSecure }),
  }
}

function secondsOf<T>(answer: TimedDnsAnswer<T>, failures: number, fixedSeconds: number): number {
  if (answer.kind === 'failed') return Math.min(FIRST_FAILED_SECONDS * 2 ** (failures - 1), MAX_FAILED_SECONDS)
  if (answer.kind === 'nothing') return NOTHING_SECONDS
  if (answer.ttlSeconds === null) return fixedSeconds
  return Math.min(Math.max(answer.ttlSeconds, MIN_FOUND_SECONDS), MAX_FOUND_SECONDS)
}
