/**
 * Answers that are kept: for as long as DNS says within bounds, a minute where there is nothing, and seconds where the lookup failed
 * (longer each time it fails again), so that a dead name server is not asked for every message. One lookup of a name is under way
 * at a time; all who ask meanwhile get its answer. The least recently used answers go when there are too many.
 */
import type { Clock } from '#src/platform/clock.ts'
import type { Asked, Lookup } from '#src/net/dns-answer.ts'

export interface CacheOptions<T> {
  readonly clock: Clock
  readonly ask: (name: string) => Promise<Asked<T>>
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
  readonly lookup: Lookup<T>
  readonly until: number
  /** In a row. */
  readonly failures: number
}

/** The lookup, behind its cache. */
export function createLookupCache<T>({
  clock,
  ask,
  fixedSeconds,
  max = MAX_ENTRIES,
}: CacheOptions<T>): (name: string) => Promise<Lookup<T>> {
  const kept = new Map<string, Entry<T>>()
  const underWay = new Map<string, Promise<Lookup<T>>>()

  async function askAndKeep(name: string): Promise<Lookup<T>> {
    const asked = await ask(name)
    const failures = asked.kind === 'failed' ? (kept.get(name)?.failures ?? 0) + 1 : 0
    const lookup = lookupOf(asked)
    kept.delete(name)
    kept.set(name, { lookup, failures, until: clock.now() + 1000 * secondsOf(asked, failures, fixedSeconds) })
    const [oldest] = kept.keys()
    if (kept.size > max && oldest !== undefined) kept.delete(oldest)
    return lookup
  }

  return async (name) => {
    const entry = kept.get(name)
    if (entry !== undefined && clock.now() < entry.until) {
      kept.delete(name)
      kept.set(name, entry)
      return entry.lookup
    }
    const pending = underWay.get(name) ?? askAndKeep(name).finally(() => underWay.delete(name))
    underWay.set(name, pending)
    return pending
  }
}

function lookupOf<T>(asked: Asked<T>): Lookup<T> {
  if (asked.kind !== 'found') return asked
  return {
    kind: 'found',
    records: asked.records,
    ...(asked.isSecure === undefined ? {} : { isSecure: asked.isSecure }),
  }
}

function secondsOf<T>(asked: Asked<T>, failures: number, fixedSeconds: number): number {
  if (asked.kind === 'failed') return Math.min(FIRST_FAILED_SECONDS * 2 ** (failures - 1), MAX_FAILED_SECONDS)
  if (asked.kind === 'nothing') return NOTHING_SECONDS
  if (asked.ttlSeconds === null) return fixedSeconds
  return Math.min(Math.max(asked.ttlSeconds, MIN_FOUND_SECONDS), MAX_FOUND_SECONDS)
}
