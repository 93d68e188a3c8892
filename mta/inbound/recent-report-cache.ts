/**
 * Caches the bytes of reports that this process has just stored, because most are parsed within a second and then need
 * no fetch. Bounded. PostgreSQL has every report, so losing cache entries is harmless.
 */
export interface RecentReportCache {
  put(id: string, raw: Buffer): void
  /** Returns and removes the entry. */
  consume(id: string): Buffer | undefined
}

export function createRecentReportCache(maxOctets = 16 * 1024 * 1024): RecentReportCache {
  const cached = new Map<string, Buffer>()
  let octets = 0
  return {
    put: (id, raw) => {
      if (octets + raw.length > maxOctets) {
        cached.clear() // the entries were not used; PostgreSQL still has them
        octets = 0
      }
      cached.set(id, raw)
      octets += raw.length
    },
    consume: (id) => {
      const raw = cached.get(id)
      if (raw !== undefined && cached.delete(id)) octets -= raw.length
      return raw
    },
  }
}
