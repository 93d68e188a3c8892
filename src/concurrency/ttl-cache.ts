/**
 * A bounded cache with a time to live: entries older than `ttlMs` are not returned, and when more than `max` entries
 * are stored, the oldest is removed. If the clock is set back, entries expire; they never live longer.
 */
import type { Clock } from '#src/platform/clock.ts'

export interface TtlCache<T> {
  get(name: string): T | undefined
  set(name: string, value: T): void
  delete(name: string): void
  clear(): void
  readonly size: number
}

export interface TtlCacheOptions {
  readonly max: number
  readonly ttlMs: number
}

export function createTtlCache<T>(clock: Clock, options: TtlCacheOptions): TtlCache<T> {
  const entries = new Map<string, { readonly value: T; readonly at: number }>()
  return {
    get(name) {
      const entry = entries.get(name)
      if (entry === undefined) return undefined
      const age = clock.now() - entry.at
      if (age >= 0 && age < options.ttlMs) return entry.value
      entries.delete(name)
      return undefined
    },
    set(name, value) {
      entries.delete(name) // a Map keeps the position of the first insertion; after delete, the entry moves to the end
      entries.set(name, { value, at: clock.now() })
      const oldest = entries.size > options.max ? entries.keys().next().value : undefined
      if (oldest !== undefined) entries.delete(oldest)
    },
    delete: (name) => void entries.delete(name),
    clear: () => entries.clear(),
    get size() {
      return entries.size
    },
  }
}
