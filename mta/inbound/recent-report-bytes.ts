/**
 * The bytes of reports that this process has just stored, at hand until they are read: most are read within the second, and need not be
 * fetched again. Bounded; what is not here comes from PostgreSQL, so losing any of it loses nothing.
 */
export interface RecentRaws {
  put(id: string, raw: Buffer): void
  /** Once. */
  take(id: string): Buffer | undefined
}

export function createRecentRaws(maxOctets = 16 * 1024 * 1024): RecentRaws {
  const kept = new Map<string, Buffer>()
  let octets = 0
  return {
    put: (id, raw) => {
      if (octets + raw.length > maxOctets) {
        kept.clear() // nobody reads them: whatever they wait for, they can be fetched
        octets = 0
      }
      kept.set(id, raw)
      octets += raw.length
    },
    take: (id) => {
      const raw = kept.get(id)
      if (raw !== undefined && kept.delete(id)) octets -= raw.length
      return raw
    },
  }
}
