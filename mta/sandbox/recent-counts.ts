/** Counts by key for a limited number of keys. The least recently counted key is evicted and restarts at zero. */
export interface RecentCounts {
  /** Adds one and returns the previous count. */
  increment(key: string): number
}

const MAX_KEYS = 50_000

export function createRecentCounts(max = MAX_KEYS): RecentCounts {
  const counts = new Map<string, number>()
  return {
    increment: (key) => {
      const earlier = counts.get(key) ?? 0
      counts.delete(key)
      counts.set(key, earlier + 1)
      const [oldest] = counts.keys()
      if (counts.size > max && oldest !== undefined) counts.delete(oldest)
      return earlier
    },
  }
}
