/**
 * Which domains are verified MAIL FROM names of sending domains, and therefore return-paths of this server. A name that
 * is one stays so in a cache for a minute; a name that is not is asked again, so a new one works immediately. Only
 * addresses with a genuine token lead to a query. Throws while PostgreSQL is unavailable.
 */
import { createLoadingCache } from '#src/concurrency/loading-cache.ts'
import type { Context } from '#src/context.ts'
import { domainOfMailFrom } from '#src/domains/records.ts'
import { prepared } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

export interface MailFromNames {
  /** `name` in lower case. */
  isVerified(name: string): Promise<boolean>
}

const CACHE = { max: 10_000, ttlMs: 60_000 }

const SELECT_VERIFIED = prepared(
  'inbound-mail-from',
  sql`
    SELECT 1
    FROM domains
    WHERE domain = $1 AND verification_status IN ('verified', 'degraded') AND mail_from_status = 'verified'
  `,
)

export function createMailFromNames(ctx: Pick<Context, 'db' | 'clock'>): MailFromNames {
  const cache = createLoadingCache<boolean>(ctx.clock, CACHE)
  return {
    async isVerified(name) {
      const domain = domainOfMailFrom(name)
      if (domain === null) return false
      const isKnown = await cache.get(name, async () => (await ctx.db.query(SELECT_VERIFIED, [domain])).rows.length > 0)
      if (!isKnown) cache.delete(name)
      return isKnown
    },
  }
}
