/**
 * The DMARC records of verified sending domains, as the worker's last check of each domain found them: no record, or
 * one that receivers ignore. Large receivers refuse or filter bulk mail of such a domain.
 */
import { serviceHostsOf } from '#src/domains/records.ts'
import { countText } from '#src/platform/plural.ts'
import { sql } from '#src/stores/sql.ts'
import { type DoctorCheck, ok, skipped, warning } from './check.ts'

const NAMED = 3

interface FoundRecords {
  readonly checked: number
  readonly lacking: number
  /** The messages of the newest of them; each begins with the name of the record. */
  readonly messages: readonly string[] | null
}

const FIND = sql`
  SELECT count(*)::int AS checked, count(*) FILTER (WHERE c.status IN ('missing', 'wrong'))::int AS lacking,
    (
      array_agg(c.message ORDER BY d.verified_at DESC NULLS LAST) FILTER (WHERE c.status IN ('missing', 'wrong'))
    )[1:${NAMED}] AS messages
  FROM domains d
  CROSS JOIN LATERAL jsonb_to_recordset(d.checks) AS c (purpose text, status text, message text)
  WHERE d.verification_status IN ('verified', 'degraded') AND NOT d.is_trusted AND c.purpose = 'dmarc'
`

export const SENDER_DMARC: DoctorCheck = {
  name: 'sender DMARC',
  run: async ({ db, config }) => {
    if (db === null) return skipped('PostgreSQL is away')
    const [found] = (await db.query<FoundRecords>(FIND)).rows
    const { checked, lacking, messages } = found ?? { checked: 0, lacking: 0, messages: null }
    if (checked === 0) return skipped('no domain is verified by its DNS records')
    const { dmarcReports } = serviceHostsOf(config)
    if (lacking === 0) return ok(`${countText(checked, 'sending domain')} with a valid DMARC record`)
    const more = lacking > NAMED ? `; and ${lacking - NAMED} more` : ''
    return warning(
      `${lacking} of ${countText(checked, 'sending domain')} without a valid DMARC record: ` +
        `${(messages ?? []).join('; ')}${more}`,
      `publish _dmarc.DOMAIN TXT "v=DMARC1; p=none; rua=mailto:${dmarcReports}" in the zone of each, and a stricter ` +
        'policy later; ' +
        'then run mailstead domain verify DOMAIN',
    )
  },
}
