/** Whether the zone with the DKIM keys of delegated domains is published, and how its changes reach it. */
import { sql } from '#src/stores/sql.ts'
import { type DoctorCheck, ok, skipped, warning } from './check.ts'
import { doctorText } from './finding-texts.ts'

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
    if (db === null) return skipped(doctorText('postgres_away'))
    const [state] = (await db.query<ZoneState>(READ)).rows
    const { records, pending, oldest, problem } = state ?? { records: 0, pending: 0, oldest: null, problem: null }
    if (config.dkimZone === null && records === 0) return skipped(doctorText('zone_unset'))
    if (oldest !== null && Date.now() - oldest.getTime() > LATE_MS) {
      const late = { pending, oldest: oldest.toISOString() }
      const detail =
        problem === null ? doctorText('zone_late', late) : doctorText('zone_late_why', { ...late, problem })
      return warning(detail, doctorText('zone_todo'))
    }
    return ok(
      config.dkimZone === null
        ? doctorText('zone_records_previous', { records })
        : doctorText('zone_records', { records, zone: config.dkimZone }),
    )
  },
}
