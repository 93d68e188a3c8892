/**
 * Stores the findings of the last check, for the campaigns, for metrics and for people. An `unknown` finding does not
 * replace an earlier one: DNS that is silent for a moment neither holds campaigns back nor lets them go. What holds
 * campaigns needs recent evidence: after a quarter of an hour without, `unknown` replaces it. Checks that no longer
 * exist are removed. Two workers at once store the same.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { LIVE_CHECK_NAMES, type NamedFinding } from './checks.ts'

const STORE = sql`
  WITH input AS MATERIALIZED (
    SELECT *
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::boolean[]) AS i (name, status, detail, todo, holds)
  ),
  removed AS (
    DELETE FROM live_checks
    WHERE name <> ALL ($7::text[])
  )
  INSERT INTO live_checks AS c (name, status, detail, todo, holds, since, checked_at)
  SELECT name, status, detail, todo, holds, $6, $6
  FROM input
  ORDER BY name
  ON CONFLICT (name)
  DO UPDATE SET status = excluded.status,
    detail = excluded.detail,
    todo = excluded.todo,
    holds = excluded.holds,
    since = CASE WHEN c.status = excluded.status THEN c.since ELSE $6 END,
    checked_at = $6
  WHERE excluded.status <> 'unknown'
    OR c.status IN ('unknown', 'skipped')
    OR (c.holds AND c.checked_at < $6::timestamptz - interval '15 minutes')
  RETURNING name, since = $6 AS "isNew"
`

/** Returns the names whose status changed. */
export async function storeLiveFindings(
  db: Queryable,
  findings: readonly NamedFinding[],
  now: Date,
): Promise<readonly string[]> {
  const { rows } = await db.query<{ name: string; isNew: boolean }>(STORE, [
    ...columnsOf(findings, [(f) => f.name, (f) => f.status, (f) => f.detail, (f) => f.todo, (f) => f.holds]),
    now,
    LIVE_CHECK_NAMES,
  ])
  return rows.filter(({ isNew }) => isNew).map(({ name }) => name)
}

export async function clearLiveFindings(db: Queryable): Promise<void> {
  await db.query('DELETE FROM live_checks')
}

const READ_HOLD = prepared(
  'live-hold',
  sql`
    SELECT count(*)::int AS checks,
      string_agg(name || ': ' || detail, '; ' ORDER BY name) FILTER (WHERE holds AND status = 'failed') AS reason
    FROM live_checks
  `,
)

/** Why campaigns are held back; null if nothing that was checked fails. `isChecked`: a check has run at all. */
export async function readStoredHold(
  db: Queryable,
): Promise<{ readonly isChecked: boolean; readonly reason: string | null }> {
  const {
    rows: [row],
  } = await db.query<{ checks: number; reason: string | null }>(READ_HOLD)
  return { isChecked: (row?.checks ?? 0) > 0, reason: row?.reason ?? null }
}

/** How many findings of each severity there are. */
export async function countLiveFindings(db: Queryable): Promise<ReadonlyMap<string, number>> {
  const { rows } = await db.query<{ status: string; n: number }>(
    'SELECT status, count(*)::int AS n FROM live_checks GROUP BY status',
  )
  return new Map(rows.map(({ status, n }) => [status, n]))
}
