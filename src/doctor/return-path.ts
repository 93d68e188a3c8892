/**
 * Which verified domains send with the return-path of this server in place of their own. That is correct, but SPF then
 * passes for another name than the one in From, so the doctor recommends the records of MAIL FROM.
 */
import { mailFromDomainOf } from '#src/domains/records.ts'
import { sql } from '#src/stores/sql.ts'
import { type DoctorCheck, ok, skipped } from './check.ts'
import { countText } from '#src/platform/plural.ts'

const NAMED = 3

const COUNT = sql`
  SELECT count(*)::int AS verified, count(*) FILTER (WHERE mail_from_status <> 'verified')::int AS lacking,
    (array_agg(domain ORDER BY verified_at DESC NULLS LAST) FILTER (WHERE mail_from_status <> 'verified'))[1:${NAMED}]
      AS names
  FROM domains
  WHERE verification_status IN ('verified', 'degraded') AND NOT is_trusted
`

interface Counted {
  readonly verified: number
  readonly lacking: number
  readonly names: readonly string[] | null
}

export const RETURN_PATH: DoctorCheck = {
  name: 'return-path',
  run: async ({ db }) => {
    if (db === null) return skipped('PostgreSQL is away')
    const { verified, lacking, names } = (await db.query<Counted>(COUNT)).rows[0] ?? NO_DOMAINS
    if (verified === 0) return skipped('no domain is verified by its DNS records')
    if (lacking === 0) return ok('every verified domain has its own return-path (MAIL FROM)')
    const list = (names ?? []).join(', ')
    return {
      ...ok(
        `of ${countText(verified, 'verified domain')}, ${lacking} without a return-path of its own ` +
          `(MAIL FROM): ${list}`,
      ),
      todo:
        `recommended: publish the MX and TXT records of ${(names ?? []).map(mailFromDomainOf).join(', ')} ` +
        '(mailstead domain verify DOMAIN says what is missing), so that SPF passes for the domain in From',
    }
  },
}

const NO_DOMAINS: Counted = { verified: 0, lacking: 0, names: null }
