/**
 * Counts the monthly quota of a workspace exactly: the update locks the counter's row until the accepting transaction
 * ends, so two processes cannot both use the last of it. Rows are locked in order of workspace, so batches do not
 * deadlock. Recipients that are cancelled before their first attempt are taken back, in the transaction that cancels
 * them.
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
      RETURNING workspace_id, used
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

const REFUND = prepared(
  'quota-refund',
  'UPDATE usage SET used = greatest(0, used - $3) WHERE workspace_id = $1 AND period = $2',
)

/** Takes back recipients of a message that was accepted at this time. */
export async function refundQuota(
  tx: Queryable,
  {
    workspaceId,
    count,
    acceptedAt,
  }: { readonly workspaceId: string; readonly count: number; readonly acceptedAt: Date },
): Promise<void> {
  await tx.query(REFUND, [workspaceId, periodOf(acceptedAt), count])
}

/** SQL expression: the month in which a message with this UUIDv7 was accepted. */
const periodOfId = (id: string): string => sql`
  date_trunc(
    'month',
    to_timestamp(('x' || substr(replace(${id}::text, '-', ''), 1, 12))::bit(48)::bigint / 1000.0) AT TIME ZONE 'UTC'
  )::date
`

/**
 * CTEs that take back the recipients in `cancelled` that were never attempted, each in the month of its acceptance. The
 * counters are locked in order of workspace, as for acceptance. A recipient is in `cancelled` only once, because the
 * transition that puts it there names the state before, so it is refunded exactly once.
 */
export function refundQuotaCte(cancelled: string): string {
  return sql`
    refunds AS (
      SELECT workspace_id, ${periodOfId('message_id')} AS period, count(*) AS recipients
      FROM ${cancelled}
      WHERE attempts = 0
      GROUP BY 1, 2
    ), counters AS MATERIALIZED (
      SELECT u.workspace_id, u.period, r.recipients
      FROM refunds r
      JOIN usage u ON u.workspace_id = r.workspace_id AND u.period = r.period
      ORDER BY u.workspace_id, u.period
      FOR UPDATE OF u
    ), refunded AS (
      UPDATE usage u
      SET used = greatest(0, u.used - c.recipients)
      FROM counters c
      WHERE u.workspace_id = c.workspace_id AND u.period = c.period
    )
  `
}

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

export interface ConsumedQuota {
  /** The submissions over the quota. */
  readonly refused: ReadonlySet<Submission>
  /** The recipients that count now, by workspace. */
  readonly used: ReadonlyMap<string, number>
}

/** Counts the recipients of a batch against the quotas of their workspaces. */
export async function consumeQuota(
  tx: Queryable,
  submissions: readonly Submission[],
  now: Date,
): Promise<ConsumedQuota> {
  const groups = [...byWorkspace(submissions)]
  const period = periodOf(now)
  const { rows } = await tx.query<{ workspace_id: string; used: number }>(CONSUME, [
    groups.map(([id]) => id),
    groups.map(() => period),
    groups.map(([, group]) => countRecipients(group)),
  ])
  const refused = new Set<Submission>()
  const used = new Map(rows.map((row) => [row.workspace_id, row.used]))
  for (const [workspaceId, group] of groups) {
    const usedAfter = used.get(workspaceId) ?? 0
    const tooMany = submissionsOverQuota(group, usedAfter)
    const refund = countRecipients(tooMany)
    if (refund > 0) await tx.query(REFUND, [workspaceId, period, refund])
    used.set(workspaceId, usedAfter - refund)
    for (const submission of tooMany) refused.add(submission)
  }
  return { refused, used }
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
