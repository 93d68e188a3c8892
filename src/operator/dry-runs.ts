/**
 * Sendings that are only rehearsed: what is asked (who to whom, with which message), how it is answered (steps, each good or not, and what
 * to do about it), and the rows by which an api asks an outbound process, for an api opens no SMTP connection. A request is taken by one
 * process for a time; its process dies: another takes it. Redis only wakes; the rows are looked at anyway. Old ones go.
 */
import { DRY_RUN_CHANNEL } from '#src/queue/keys.ts'
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'

export interface DryRunRequest {
  readonly from: string
  readonly to: string
  /** An id; null: whichever has the sender's domain verified. */
  readonly workspaceId: string | null
  /** A whole message; null: a short one is made up. */
  readonly raw: Buffer | null
}

export type StepStatus = 'ok' | 'warn' | 'fail' | 'skipped'

export interface DryRunStep {
  readonly step: string
  readonly status: StepStatus
  /** A sentence. */
  readonly says: string
  /** What to do about it; null where there is nothing to do. */
  readonly todo: string | null
}

export interface DryRunReport {
  /** Every step was good, or a receiver may think less of it (warn), or it would not have been taken (fail). */
  readonly result: 'ok' | 'warn' | 'fail'
  readonly steps: readonly DryRunStep[]
  /** What was said, line by line. */
  readonly conversation: readonly string[]
}

/** One process works on it for so long. */
const CLAIM_DURATION = `interval '90 seconds'`
const RETENTION = `interval '1 hour'`

export async function requestDryRun(
  ctx: Pick<Context, 'db' | 'redis' | 'clock'>,
  { raw, ...wanted }: DryRunRequest,
): Promise<string> {
  const id = newId(ctx.clock.now())
  await ctx.db.query('INSERT INTO dry_runs (id, wanted, raw) VALUES ($1, $2, $3)', [id, JSON.stringify(wanted), raw])
  await ctx.redis.publish(DRY_RUN_CHANNEL, id).catch(() => undefined)
  return id
}

export type FoundDryRun =
  | { readonly kind: 'none' }
  | { readonly kind: 'waiting' }
  | { readonly kind: 'done'; readonly report: DryRunReport }

export async function findDryRun(db: Queryable, id: string): Promise<FoundDryRun> {
  const {
    rows: [row],
  } = await db.query<{ report: DryRunReport | null }>('SELECT report FROM dry_runs WHERE id = $1', [id])
  if (row === undefined) return { kind: 'none' }
  return row.report === null ? { kind: 'waiting' } : { kind: 'done', report: row.report }
}

/** The next that nobody works on; null when there is none. */
export async function claimDryRun(
  db: Queryable,
): Promise<{ readonly id: string; readonly order: DryRunRequest } | null> {
  const {
    rows: [row],
  } = await db.query<{ id: string; wanted: Omit<DryRunRequest, 'raw'>; raw: Buffer | null }>(sql`
    UPDATE dry_runs
    SET taken_until = now() + ${CLAIM_DURATION}
    WHERE id = (
      SELECT id
      FROM dry_runs
      WHERE report IS NULL AND taken_until < now()
      ORDER BY id
      LIMIT 1
      FOR UPDATE SKIP LOCKED
    )
    RETURNING id, wanted, raw
  `)
  return row === undefined ? null : { id: row.id, order: { ...row.wanted, raw: row.raw } }
}

export async function storeDryRunReport(db: Queryable, id: string, report: DryRunReport): Promise<void> {
  await db.query('UPDATE dry_runs SET report = $2 WHERE id = $1 AND report IS NULL', [id, JSON.stringify(report)])
}

export async function deleteOldDryRuns(db: Queryable): Promise<void> {
  await db.query(sql`
    DELETE FROM dry_runs
    WHERE id < (lpad(to_hex((extract(epoch FROM now() - ${RETENTION}) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
  `)
}

/** The worst of them. */
export function resultOf(steps: readonly DryRunStep[]): DryRunReport['result'] {
  const has = (status: StepStatus): boolean => steps.some((one) => one.status === status)
  if (has('fail')) return 'fail'
  return has('warn') ? 'warn' : 'ok'
}
