/** Counts by key, for as many keys as memory is given for: the least recently counted goes, and begins at nothing when it comes again. */
export interface Tally {
  /** Counts one more; answers how often it was before. */
  count(key: string): number
}

const MAX_KEYS = 50_000

export function createTally(max = MAX_KEYS): Tally {
  const counts = new Map<string, number>()
  return {
    count: (key) => {
      const before = counts.get(key) ?? 0
      counts.delete(key)
      counts.set(key, before + 1)
      const [oldest] = counts.keys()
      if (counts.size > max && oldest !== undefined) counts.delete(oldest)
      return before
    },
  }
}
