/**
 * A bounded memory with an age: what is older than `ttlMs` is not given out, and beyond `max` entries the oldest goes.
 * A clock that was set back makes entries old, not immortal.
 */
import type { Clock } from '#src/platform/clock.ts'

export interface Shelf<T> {
  get(name: string): T | undefined
  put(name: string, value: T): void
  drop(name: string): void
  clear(): void
  readonly size: number
}

export interface ShelfBounds {
  readonly max: number
  readonly ttlMs: number
}

export function createShelf<T>(clock: Clock, bounds: ShelfBounds): Shelf<T> {
  const entries = new Map<string, { readonly value: T; readonly at: number }>()
  return {
    get(name) {
      const entry = entries.get(name)
      if (entry === undefined) return undefined
      const age = clock.now() - entry.at
      if (age >= 0 && age < bounds.ttlMs) return entry.value
      entries.delete(name)
      return undefined
    },
    put(name, value) {
      entries.delete(name) // a Map keeps the place of the first insertion: deleted, it goes to the end
      entries.set(name, { value, at: clock.now() })
      const oldest = entries.size > bounds.max ? entries.keys().next().value : undefined
      if (oldest !== undefined) entries.delete(oldest)
    },
    drop: (name) => void entries.delete(name),
    clear: () => entries.clear(),
    get size() {
      return entries.size
    },
  }
}
