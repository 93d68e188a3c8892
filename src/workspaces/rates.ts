/**
 * Bounce and complaint rates of each workspace: deliveries, hard bounces and complaints per hour. A workspace with bad
 * rates harms the reputation of all workspaces that share its sources, so its mail is paused. Processes add counts in
 * batches; counts that a crash loses make no difference.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { countText } from '#src/platform/plural.ts'

const RETAIN_HOURS = 48

export interface ResultCounts {
  readonly delivered: number
  readonly hard: number
  readonly complaints: number
}

export interface WorkspaceCounts extends ResultCounts {
  readonly workspaceId: string
}

export interface RateThresholds {
  /** Shares from 0 to 1. */
  readonly bounces: number
  readonly complaints: number
  /** The minimum number of results for a decision. */
  readonly minimum: number
}

export interface BadRate {
  readonly cause: 'bounces' | 'complaints'
  /** For people. */
  readonly reason: string
}

/** Compares the rates with the thresholds; null when none is exceeded. */
export function evaluateRates(
  { delivered, hard, complaints }: ResultCounts,
  thresholds: RateThresholds,
): BadRate | null {
  const results = delivered + hard
  if (results < thresholds.minimum) return null
  const of = (count: number, all: number, what: string): string =>
    `${percent(count / all)} of ${countText(all, 'message')} ${what}, more than `
  if (hard / results > thresholds.bounces)
    return { cause: 'bounces', reason: of(hard, results, 'hard bounced') + percent(thresholds.bounces) }
  if (delivered > 0 && complaints / delivered > thresholds.complaints)
    return {
      cause: 'complaints',
      reason: of(complaints, delivered, 'had complaints') + percent(thresholds.complaints),
    }
  return null
}

function percent(share: number): string {
  return `${Number((share * 100).toFixed(2))} %`
}

/** Adds counts to the current hour. Counts of deleted workspaces are ignored. */
export async function addCounts(db: Queryable, counts: readonly WorkspaceCounts[], now: Date): Promise<void> {
  if (counts.length === 0) return
  await db.query(
    sql`
      INSERT INTO workspace_hours AS w (workspace_id, hour, delivered, hard, complaints)
      SELECT i.id, date_trunc('hour', $5::timestamptz), i.delivered, i.hard, i.complaints
      FROM (
        SELECT id, sum(delivered) AS delivered, sum(hard) AS hard, sum(complaints) AS complaints
        FROM unnest($1::uuid[], $2::int[], $3::int[], $4::int[]) AS u (id, delivered, hard, complaints)
        GROUP BY id
        ORDER BY id
      ) AS i
      JOIN workspaces ON workspaces.id = i.id
      ON CONFLICT (workspace_id, hour)
      DO UPDATE SET delivered = w.delivered + excluded.delivered,
        hard = w.hard + excluded.hard,
        complaints = w.complaints + excluded.complaints
    `,
    [
      ...columnsOf(counts, [
        (one) => one.workspaceId,
        (one) => one.delivered,
        (one) => one.hard,
        (one) => one.complaints,
      ]),
      now,
    ],
  )
}

/** The counts of workspaces with at least `minimum` results since then. */
export async function readCounts(db: Queryable, since: Date, minimum: number): Promise<WorkspaceCounts[]> {
  return (
    await db.query<WorkspaceCounts>(
      sql`
        SELECT workspace_id AS "workspaceId", sum(delivered)::int AS delivered, sum(hard)::int AS hard,
          sum(complaints)::int AS complaints
        FROM workspace_hours
        WHERE hour >= $1
        GROUP BY workspace_id
        HAVING sum(delivered + hard) >= $2
      `,
      [since, minimum],
    )
  ).rows
}

/** Resets the counts after a pause, so that the old counts do not pause a resumed workspace again. */
export async function deleteCounts(db: Queryable, workspaceId: string): Promise<void> {
  await db.query('DELETE FROM workspace_hours WHERE workspace_id = $1', [workspaceId])
}

export async function removeOldCounts(db: Queryable, now: Date): Promise<void> {
  await db.query(`DELETE FROM workspace_hours WHERE hour < $1::timestamptz - $2 * interval '1 hour'`, [
    now,
    RETAIN_HOURS,
  ])
}
