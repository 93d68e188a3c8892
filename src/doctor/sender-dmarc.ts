/**
 * The DMARC records of verified sending domains, as the worker's last check of each domain found them: no record, or
 * one that receivers ignore. Large receivers refuse or filter bulk mail of such a domain.
 */
import { serviceHostsOf } from '#src/domains/records.ts'
import type { Translation } from '#src/platform/coded-text.ts'
import { aboutSentence, type FindingText, joinSaid } from '#src/platform/finding-text.ts'
import { sql } from '#src/stores/sql.ts'
import { type DoctorCheck, ok, skipped, warning } from './check.ts'
import { doctorText } from './finding-texts.ts'

const NAMED = 3

interface FoundRecord {
  readonly name: string
  /** Begins with the name. */
  readonly message: string
  /** Absent: an earlier version stored it. */
  readonly translation?: Translation | null
}

interface FoundRecords {
  readonly checked: number
  readonly lacking: number
  /** The checks of the newest of them. */
  readonly found: readonly FoundRecord[] | null
}

const FIND = sql`
  SELECT count(*)::int AS checked, count(*) FILTER (WHERE c.status IN ('missing', 'wrong'))::int AS lacking,
    (
      array_agg(
        jsonb_build_object('name', c.name, 'message', c.message, 'translation', c.translation)
        ORDER BY d.verified_at DESC NULLS LAST
      ) FILTER (WHERE c.status IN ('missing', 'wrong'))
    )[1:${NAMED}] AS found
  FROM domains d
  CROSS JOIN LATERAL jsonb_to_recordset(d.checks) AS c (
    purpose text, status text, name text, message text, translation jsonb
  )
  WHERE d.verification_status IN ('verified', 'degraded') AND NOT d.is_trusted AND c.purpose = 'dmarc'
`

export const SENDER_DMARC: DoctorCheck = {
  name: 'sender DMARC',
  run: async ({ db, config }) => {
    if (db === null) return skipped(doctorText('postgres_away'))
    const [found] = (await db.query<FoundRecords>(FIND)).rows
    const { checked, lacking, found: records } = found ?? { checked: 0, lacking: 0, found: null }
    if (checked === 0) return skipped(doctorText('no_verified_domain'))
    const { dmarcReports } = serviceHostsOf(config)
    if (lacking === 0) return ok(doctorText('sender_dmarc', { checked }))
    const first = doctorText('sender_dmarc_missing', { lacking, checked })
    const problems = joinSaid((records ?? []).map(toSaid))
    const more = lacking > NAMED ? [doctorText('more', { count: lacking - NAMED })] : []
    return warning(
      joinSaid([joinSaid([first, problems], ': '), ...more]),
      doctorText('sender_dmarc_todo', { address: dmarcReports }),
    )
  },
}

function toSaid({ name, message, translation = null }: FoundRecord): FindingText {
  return { text: message, sentences: translation === null ? [] : [aboutSentence(name), translation] }
}
