/** Whether the zone with the DKIM keys of delegated domains is published, and how its changes reach it. */
import { countText } from '#src/platform/plural.ts'
import { timeText } from '#src/platform/time-text.ts'
import { sql } from '#src/stores/sql.ts'
import { type DoctorCheck, ok, skipped, warning } from './check.ts'

/** The command is repeated after 30 s, then after a minute. */
const LATE_MS = 10 * 60_000

interface ZoneState {
  readonly records: number
  readonly pending: number
  readonly oldest: Date | null
  readonly problem: string | null
}

const READ = sql`
  SELECT count(*)::int AS records, count(*) FILTER (WHERE due_at IS NOT NULL)::int AS pending,
    min(changed_at) FILTER (WHERE due_at IS NOT NULL) AS oldest,
    (array_agg(problem ORDER BY changed_at) FILTER (WHERE problem IS NOT NULL))[1] AS problem
  FROM dkim_zone_records
`

export const DKIM_KEYS: DoctorCheck = {
  name: 'DKIM keys',
  run: async ({ db, config }) => {
    if (db === null) return skipped('PostgreSQL is away')
    const [state] = (await db.query<ZoneState>(READ)).rows
    const { records, pending, oldest, problem } = state ?? { records: 0, pending: 0, oldest: null, problem: null }
    if (config.dkimZone === null && records === 0) return skipped('DKIM_ZONE is not set: owners publish their keys')
    if (oldest !== null && Date.now() - oldest.getTime() > LATE_MS) {
      const why = problem === null ? '' : `: ${problem}`
      return warning(
        `${countText(pending, 'change')} of the zone with DKIM keys not published since ${timeText(oldest)}${why}`,
        'run mailstead domain zone --pending to see them; correct DKIM_ZONE_COMMAND or publish them by hand',
      )
    }
    return ok(`${countText(records, 'record')} in ${config.dkimZone ?? 'the previous DKIM_ZONE'}`)
  },
}
