/**
 * Which verified domains send with the return-path of this server in place of their own. That is correct, but SPF then
 * passes for another name than the one in From, so the doctor recommends the records of MAIL FROM.
 */
import { mailFromDomainOf } from '#src/domains/records.ts'
import { sql } from '#src/stores/sql.ts'
import { type DoctorCheck, ok, skipped } from './check.ts'
import { doctorText } from './finding-texts.ts'

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
    if (db === null) return skipped(doctorText('postgres_away'))
    const { verified, lacking, names } = (await db.query<Counted>(COUNT)).rows[0] ?? NO_DOMAINS
    if (verified === 0) return skipped(doctorText('no_verified_domain'))
    if (lacking === 0) return ok(doctorText('return_path_own'))
    const list = (names ?? []).join(', ')
    return ok(
      doctorText('return_path_missing', { verified, lacking, list }),
      doctorText('return_path_todo', { names: (names ?? []).map(mailFromDomainOf).join(', ') }),
    )
  },
}

const NO_DOMAINS: Counted = { verified: 0, lacking: 0, names: null }
