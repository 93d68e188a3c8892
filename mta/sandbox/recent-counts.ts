/** Counts by key, for as many keys as memory is given for: the least recently counted goes, and begins at nothing when it comes again. */
export interface RecentCounts {
  /** Counts one more; answers how often it was before. */
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
