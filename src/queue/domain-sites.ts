/**
 * Which site accepts mail for a domain, as outbound processes found it: in memory, and in PostgreSQL so that the
 * operator can inspect, suspend and move mail by site. New or day-old entries are written in the background, seconds
 * late; lost writes are repeated. Only the operator's view and site suspensions depend on it.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

export interface DomainSites {
  /** Records that the site accepts mail for the domain. */
  record(domain: string, site: string): void
  stop(): void
}

const WRITE_INTERVAL_MS = 2000
const FRESH_MS = 24 * 3600 * 1000
/** At this size the memory is cleared. */
const MAX_DOMAINS = 100_000
const BATCH_SIZE = 1000

interface KnownSite {
  readonly site: string
  readonly writtenMs: number
}

export function createDomainSites(ctx: Pick<Context, 'db' | 'clock' | 'log'>): DomainSites {
  const known = new Map<string, KnownSite>()
  const unwritten = new Map<string, string>()

  async function write(): Promise<void> {
    const batch = [...unwritten].slice(0, BATCH_SIZE)
    if (batch.length === 0) return
    const now = ctx.clock.now()
    await ctx.db.query(
      sql`
        INSERT INTO domain_sites (domain, site, seen_at)
        SELECT domain, site, $3
        FROM unnest($1::text[], $2::text[]) AS i (domain, site)
        ORDER BY domain
        ON CONFLICT (domain)
        DO UPDATE SET site = excluded.site, seen_at = excluded.seen_at
      `,
      [...columnsOf(batch, [([domain]) => domain, ([, site]) => site]), new Date(now)],
    )
    for (const [domain, site] of batch) if (unwritten.get(domain) === site) unwritten.delete(domain)
  }

  const timer = setInterval(() => {
    write().catch((error: unknown) => ctx.log.debug({ err: error }, 'failed to write domain sites; retrying'))
  }, WRITE_INTERVAL_MS)
  return {
    record: (domain, site) => {
      const now = ctx.clock.now()
      const before = known.get(domain)
      if (before?.site === site && now - before.writtenMs < FRESH_MS) return
      if (known.size >= MAX_DOMAINS) known.clear()
      known.set(domain, { site, writtenMs: now })
      if (unwritten.size < MAX_DOMAINS) unwritten.set(domain, site)
    },
    stop: () => clearInterval(timer),
  }
}

/** The sites of the known domains. */
export async function findSites(db: Queryable, domains: readonly string[]): Promise<Map<string, string>> {
  const text = 'SELECT domain, site FROM domain_sites WHERE domain = ANY ($1)'
  const { rows } = await db.query<{ domain: string; site: string }>(text, [domains])
  return new Map(rows.map(({ domain, site }) => [domain, site]))
}
