/**
 * Dry runs: the request (sender, recipient, message), the report (steps, each with a result and what to do), and the
 * rows by which the api asks an outbound process, because the api opens no SMTP connections. One process claims a
 * request for a limited time; if it dies, another process claims it. Redis only wakes the processes; they poll the rows
 * anyway. Old rows are deleted.
 */
import { DRY_RUN_CHANNEL } from '#src/queue/keys.ts'
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'

export interface DryRunRequest {
  readonly from: string
  readonly to: string
  /** Null: the workspace that has verified the sender's domain. */
  readonly workspaceId: string | null
  /** A complete message; null: a short test message is composed. */
  readonly raw: Buffer | null
}

export type StepStatus = 'ok' | 'warn' | 'fail' | 'skipped'

export interface DryRunStep {
  readonly step: string
  readonly status: StepStatus
  /** A sentence. */
  readonly says: string
  /** What the operator can do; null when there is nothing to do. */
  readonly todo: string | null
}

export interface DryRunReport {
  /** All steps passed; or the message may be classified as spam (warn); or it would not be accepted (fail). */
  readonly result: 'ok' | 'warn' | 'fail'
  readonly steps: readonly DryRunStep[]
  /** The SMTP session, line by line. */
  readonly conversation: readonly string[]
}

/** A claim expires after this time. */
const CLAIM_DURATION = `interval '90 seconds'`
const RETENTION = `interval '1 hour'`

export async function requestDryRun(
  ctx: Pick<Context, 'db' | 'redis' | 'clock'>,
  { raw, ...request }: DryRunRequest,
): Promise<string> {
  const id = newId(ctx.clock.now())
  await ctx.db.query('INSERT INTO dry_runs (id, wanted, raw) VALUES ($1, $2, $3)', [id, JSON.stringify(request), raw])
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

/** Claims the next request that no process works on; null when there is none. */
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
    WHERE id < (
      lpad(to_hex((extract(epoch FROM now() - ${RETENTION}) * 1000)::bigint), 12, '0') || repeat('0', 20)
    )::uuid
  `)
}

/** The worst status of the steps. */
export function resultOf(steps: readonly DryRunStep[]): DryRunReport['result'] {
  const has = (status: StepStatus): boolean => steps.some((one) => one.status === status)
  if (has('fail')) return 'fail'
  return has('warn') ? 'warn' : 'ok'
}
