/**
 * Counts the monthly quota of a workspace exactly: the update locks the counter's row until the accepting transaction
 * ends, so two processes cannot both use the last of it. Rows are locked in order of workspace, so batches do not
 * deadlock.
 */
import { isNotNullViolation, prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import type { Submission } from './submission.ts'

const CONSUME = prepared(
  'quota-consume',
  sql`
    INSERT INTO usage AS u (workspace_id, period, used)
    SELECT *
    FROM unnest($1::uuid[], $2::date[], $3::bigint[]) AS i (workspace_id, period, used)
    ORDER BY workspace_id
    ON CONFLICT (workspace_id, period)
    DO UPDATE SET used = u.used + excluded.used
    RETURNING workspace_id, used
  `,
)

/**
 * The same as a CTE of another statement, executed after the CTEs in `after`. Its parameters, from `first` on, are the
 * workspaces, recipient counts, quotas and the period. A sum over the quota is written as null; the NOT NULL column
 * rejects that, and the whole statement is rolled back.
 */
export function consumeQuotaCte(first: number, after: readonly string[]): string {
  const arrays = `$${first}::uuid[], $${first + 1}::bigint[], $${first + 2}::bigint[]`
  const requests = `unnest(${arrays}) AS q (workspace_id, count, quota)`
  return sql`
    consumed AS (
      INSERT INTO usage AS u (workspace_id, period, used)
      SELECT workspace_id, $${first + 3}::date, CASE WHEN q.quota IS NULL OR q.count <= q.quota THEN q.count END
      FROM ${requests}
      WHERE ${after.map((name) => `(SELECT count(*) FROM ${name})`).join(' + ')} >= 0
      ORDER BY workspace_id
      ON CONFLICT (workspace_id, period)
      DO UPDATE SET used = (
        SELECT CASE WHEN q.quota IS NULL OR u.used + q.count <= q.quota THEN u.used + q.count END
        FROM ${requests}
        WHERE q.workspace_id = u.workspace_id
      )
    )
  `
}

/** Whether a statement was rejected because a quota is exceeded. */
export function isQuotaExceeded(error: unknown): boolean {
  return isNotNullViolation(error, 'usage', 'used')
}

const CONSUME_SLICE = prepared(
  'quota-consume-slice',
  sql`
    INSERT INTO usage AS u (workspace_id, period, used)
    VALUES ($1, $2, CASE WHEN $4::bigint IS NULL OR $3::bigint <= $4 THEN $3 END)
    ON CONFLICT (workspace_id, period)
    DO UPDATE SET used = CASE WHEN $4::bigint IS NULL OR u.used + $3 <= $4 THEN u.used + $3 END
  `,
)

interface QuotaSlice {
  readonly workspaceId: string
  /** Recipients. */
  readonly count: number
  readonly quota: number | null
  readonly now: Date
}

/** @throws an error for which `isQuotaExceeded` is true; the transaction must then be rolled back. */
export async function consumeQuotaSlice(tx: Queryable, { workspaceId, count, quota, now }: QuotaSlice): Promise<void> {
  await tx.query(CONSUME_SLICE, [workspaceId, periodOf(now), count, quota])
}

/** The rest of this month's quota; null = unlimited. It may be less by the time it is used. */
export async function readRemainingQuota(
  db: Queryable,
  workspaceId: string,
  quota: number | null,
  now: Date,
): Promise<number | null> {
  if (quota === null) return null
  const { rows } = await db.query<{ used: number }>('SELECT used FROM usage WHERE workspace_id = $1 AND period = $2', [
    workspaceId,
    periodOf(now),
  ])
  return Math.max(0, quota - (rows[0]?.used ?? 0))
}

const REFUND = prepared('quota-refund', 'UPDATE usage SET used = used - $3 WHERE workspace_id = $1 AND period = $2')

function periodOf(at: Date): string {
  return `${at.toISOString().slice(0, 7)}-01`
}

function byWorkspace(submissions: readonly Submission[]): Map<string, Submission[]> {
  const groups = new Map<string, Submission[]>()
  for (const submission of submissions) {
    const group = groups.get(submission.workspaceId)
    if (group === undefined) groups.set(submission.workspaceId, [submission])
    else group.push(submission)
  }
  return groups
}

function countRecipients(submissions: readonly Submission[]): number {
  return submissions.reduce((sum, submission) => sum + submission.recipients.length, 0)
}

/**
 * Parameters of `consumeQuotaCte`. If the quotas of a workspace differ because its plan just changed, the least counts.
 */
export function quotaParameters(submissions: readonly Submission[], now: Date): unknown[] {
  const groups = [...byWorkspace(submissions)]
  return [
    groups.map(([id]) => id),
    groups.map(([, group]) => countRecipients(group)),
    groups.map(([, group]) => leastQuota(group)),
    periodOf(now),
  ]
}

function leastQuota(submissions: readonly Submission[]): number | null {
  const least = submissions.reduce((sum, { quota }) => Math.min(sum, quota ?? Infinity), Infinity)
  return least === Infinity ? null : least
}

/** Counts the recipients of a batch against the quotas of their workspaces. Returns the submissions over the quota. */
export async function consumeQuota(
  tx: Queryable,
  submissions: readonly Submission[],
  now: Date,
): Promise<Set<Submission>> {
  const groups = [...byWorkspace(submissions)]
  const period = periodOf(now)
  const { rows } = await tx.query<{ workspace_id: string; used: number }>(CONSUME, [
    groups.map(([id]) => id),
    groups.map(() => period),
    groups.map(([, group]) => countRecipients(group)),
  ])
  const refused = new Set<Submission>()
  for (const [workspaceId, group] of groups) {
    const used = rows.find((row) => row.workspace_id === workspaceId)?.used ?? 0
    const tooMany = submissionsOverQuota(group, used)
    if (tooMany.length > 0) await tx.query(REFUND, [workspaceId, period, countRecipients(tooMany)])
    for (const submission of tooMany) refused.add(submission)
  }
  return refused
}

/** The submissions over the quota, in order of arrival, given the counter after all of them were added. */
function submissionsOverQuota(group: readonly Submission[], usedAfter: number): Submission[] {
  let used = usedAfter - countRecipients(group)
  const refused: Submission[] = []
  for (const submission of group) {
    const fits = submission.quota === null || used + submission.recipients.length <= submission.quota
    if (fits) used += submission.recipients.length
    else refused.push(submission)
  }
  return refused
}
