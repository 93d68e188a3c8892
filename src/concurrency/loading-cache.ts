/**
 * A cache that loads missing entries itself. Concurrent calls for one name share one load. A load that fails rejects
 * all its callers and is not cached. When the cache is full, the oldest entry is removed.
 */
import type { Clock } from '#src/platform/clock.ts'
import { createTtlCache, type TtlCacheOptions } from './ttl-cache.ts'

export interface LoadingCache<T> {
  get(name: string, ask: () => Promise<T>): Promise<T>
  delete(name: string): void
}

export function createLoadingCache<T>(clock: Clock, options: TtlCacheOptions): LoadingCache<T> {
  const cache = createTtlCache<Promise<T>>(clock, options)
  return {
    get: (name, load) => {
      const known = cache.get(name)
      if (known !== undefined) return known
      const loading = load()
      cache.set(name, loading)
      loading.catch(() => {
        if (cache.get(name) === loading) cache.delete(name)
      })
      return loading
    },
    delete: (name) => cache.delete(name),
  }
}
