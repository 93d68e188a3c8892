/**
 * Carries imports out, a slice of one at a time: the one that waited longest is claimed, rows are read from the place that was committed
 * last, and written batch by batch; after a few seconds it is given back, so that a long file delays no other. A worker that dies is no
 * different from one whose slice ended: its lease runs out and another one goes on.
 *
 * While a batch is written the next one is read. Data that PostgreSQL cannot hold are found by halving the batch: the row is told, all
 * others are imported. A fault of ours that comes back five times ends the import, so that it does not run for ever; PostgreSQL being away
 * is none.
 */
import { randomUUID } from 'node:crypto'
import { rebuildMarks } from '#src/contacts/pagination-index.ts'
import type { Context } from '#src/context.ts'
import { isDatabaseAway, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { LEASE_SECONDS, writeBatch, type BatchResult, type Claim, type ReadRow } from './batch.ts'
import type { Import } from './imports.ts'
import { readRows, type Batch, type FileRow, type Place } from './reader.ts'
import { createRowReader, type CellError } from './row.ts'

type Running = Pick<Context, 'db' | 'clock' | 'log'>
type Claimed = Claim & Pick<Import, 'layout' | 'bytes'> & Place

const SLICE_MS = 3000
const MAX_FAULTS = 5

/** One slice of one import. False when none waits. */
export async function runImports(ctx: Running, sliceMs = SLICE_MS): Promise<boolean> {
  const claim = await claimImport(ctx.db)
  if (claim === null) return false
  try {
    await runSlice(ctx, claim, performance.now() + sliceMs)
  } catch (error) {
    if (isDatabaseAway(error)) throw error
    ctx.log.error({ err: error, import: claim.id }, 'a batch of an import failed by a fault of ours; it is tried again')
    await giveBack(ctx.db, claim, 1)
  }
  return true
}

const CLAIM = sql`
  UPDATE imports
  SET state = 'running', lease = $1, leased_until = now() + interval '${LEASE_SECONDS} seconds', updated_at = now()
  WHERE id = (
    SELECT id
    FROM imports
    WHERE NOT is_cleared AND state IN ('waiting', 'running') AND (leased_until IS NULL OR leased_until < now())
    ORDER BY updated_at
    LIMIT 1
    FOR UPDATE SKIP LOCKED
  )
  RETURNING id, workspace_id AS "workspaceId", audience_id AS "audienceId", is_dry_run AS "isDryRun", lease, layout,
    bytes, position, line
`

async function claimImport(db: Queryable): Promise<Claimed | null> {
  const { rows } = await db.query<Claimed>(CLAIM, [randomUUID()])
  return rows[0] ?? null
}

async function runSlice(ctx: Running, claim: Claimed, until: number): Promise<void> {
  const read = createRowReader(claim.layout)
  for await (const batch of readAhead(readRows(ctx.db, claim, claim))) {
    if (batch.kind === 'broken') return end(ctx, claim, 'failed', batch.reason)
    const rows = batch.rows.flatMap((row) => readRow(read, row))
    const next = batch.rows.at(-1)?.next ?? claim
    const result = await writeHalving(ctx, claim, rows, next)
    if (result === 'lost') return
    if (result === 'no audience') return end(ctx, claim, 'failed', 'the audience was deleted')
    if (performance.now() > until) return giveBack(ctx.db, claim, 0)
  }
  await end(ctx, claim, 'done', null)
}

/** Each batch while the next one is read. */
async function* readAhead(batches: AsyncGenerator<Batch>): AsyncGenerator<Batch> {
  let next = batches.next()
  for (;;) {
    const { done, value } = await next
    if (done === true) return
    next = batches.next()
    next.catch(() => undefined) // it is told when its turn comes; when that never comes, nobody wants it
    yield value
  }
}

function readRow(read: ReturnType<typeof createRowReader>, { cells, line, next }: FileRow): ReadRow[] {
  const result = read(cells)
  if (result.kind === 'blank') return []
  return [
    result.kind === 'wrong'
      ? { line, next, errors: result.errors }
      : { line, next, contact: result.row, isUnsubscribed: result.isUnsubscribed },
  ]
}

/** Data that do not fit, constraints, limits of the program: SQLSTATE classes 22, 23, 54. */
const DATA_SQLSTATES = /^(22|23|54)/

async function writeHalving(ctx: Running, claim: Claimed, rows: readonly ReadRow[], next: Place): Promise<BatchResult> {
  try {
    return await writeBatch(ctx, claim, rows, next)
  } catch (error) {
    const [row] = rows
    if (row === undefined || !isDataError(error)) throw error
    if (rows.length === 1) return writeBatch(ctx, claim, [{ line: row.line, next, errors: [unstorable(error)] }], next)
    const half = rows.slice(0, rows.length / 2)
    const first = await writeHalving(ctx, claim, half, half.at(-1)?.next ?? next)
    return first === 'written' ? writeHalving(ctx, claim, rows.slice(half.length), next) : first
  }
}

function isDataError(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && DATA_SQLSTATES.test(error.code)
}

function unstorable(error: Error): CellError {
  const isTooMuch = 'constraint' in error && error.constraint === 'contacts_attributes_size'
  const message = isTooMuch
    ? 'the custom attributes of the contact would be larger than 64 KB'
    : 'the row cannot be stored'
  return { column: null, message, value: null }
}

async function end(ctx: Running, claim: Claimed, state: 'done' | 'failed', reason: string | null): Promise<void> {
  await ctx.db.query(
    sql`
      UPDATE imports
      SET state = $3, reason = $4, lease = NULL, leased_until = NULL, updated_at = now(), finished_at = now()
      WHERE id = $1 AND lease = $2
    `,
    [claim.id, claim.lease, state, reason],
  )
  // where this is not reached, the worker finds the audience by itself
  if (!claim.isDryRun) await rebuildMarks(ctx, claim.audienceId)
  ctx.log.info({ import: claim.id, workspace: claim.workspaceId, state, reason }, 'an import ended')
}

/** The next slice may be anybody's. */
async function giveBack(db: Queryable, { id, lease }: Claim, newFaults: 0 | 1): Promise<void> {
  await db.query(
    sql`
      UPDATE imports
      SET lease = NULL,
        leased_until = NULL,
        updated_at = now(),
        faults = faults + $3,
        state = CASE WHEN faults + $3 >= ${MAX_FAULTS} THEN 'failed' ELSE state END,
        finished_at = CASE WHEN faults + $3 >= ${MAX_FAULTS} THEN now() END,
        reason = CASE WHEN faults + $3 >= ${MAX_FAULTS} THEN 'a fault on our side; the log of the worker has it' END
      WHERE id = $1 AND lease = $2
    `,
    [id, lease, newFaults],
  )
}
