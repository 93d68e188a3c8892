/**
 * Runs imports one time slice at a time. Workspaces take turns. Of its imports the one that waited longest is
 * claimed; its rows are read from the last committed position and written batch by batch. After a few seconds it is
 * released, so a long file delays no other. If the worker dies, its lease expires and another worker continues. Other
 * loops do what an import leaves to do, the pagination index of the audience and the deletion of its file, so the
 * next import does not wait for it.
 *
 * The next batch is read while one is written. Data that PostgreSQL cannot store is found by splitting the batch in
 * half repeatedly: the bad row is reported, all others are imported. An internal error that occurs five times fails the
 * import; an unreachable PostgreSQL does not count.
 */
import { randomUUID } from 'node:crypto'
import type { Context } from '#src/context.ts'
import { isDatabaseAway, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { LEASE_SECONDS, writeBatch, type BatchResult, type ImportClaim, type ParsedRow } from './import-batch.ts'
import { type Import, LAST_TURN } from './imports.ts'
import { readRows, type FileBatch, type FileRow, type FilePosition } from './csv-reader.ts'
import { createRowReader, type CellError } from './contact-row.ts'

type ImportContext = Pick<Context, 'db' | 'clock' | 'log'>
type ClaimedImport = ImportClaim & Pick<Import, 'layout' | 'bytes'> & FilePosition

const SLICE_MS = 3000
const MAX_FAILURES = 5

/** Runs one time slice of one import. False if none waits. */
export async function runImports(ctx: ImportContext, sliceMs = SLICE_MS): Promise<boolean> {
  const claim = await claimImport(ctx.db)
  if (claim === null) return false
  try {
    await runSlice(ctx, claim, performance.now() + sliceMs)
  } catch (error) {
    if (isDatabaseAway(error)) throw error
    ctx.log.error({ err: error, import: claim.id }, 'import batch failed with an internal error; it will be retried')
    await releaseImport(ctx.db, claim, 1)
  }
  return true
}

// workspaces take turns: fifty files of one do not delay the only file of another
const CLAIM = sql`
  UPDATE imports
  SET state = 'running', lease = $1, leased_until = now() + interval '${LEASE_SECONDS} seconds', updated_at = now()
  WHERE id = (
    SELECT id
    FROM imports i
    WHERE NOT is_cleared AND state IN ('waiting', 'running') AND (leased_until IS NULL OR leased_until < now())
    ORDER BY ${LAST_TURN} NULLS FIRST, updated_at, id
    LIMIT 1
    FOR UPDATE SKIP LOCKED
  )
  RETURNING id, workspace_id AS "workspaceId", audience_id AS "audienceId", is_dry_run AS "isDryRun", lease, layout,
    bytes, position, line
`

async function claimImport(db: Queryable): Promise<ClaimedImport | null> {
  const { rows } = await db.query<ClaimedImport>(CLAIM, [randomUUID()])
  return rows[0] ?? null
}

async function runSlice(ctx: ImportContext, claim: ClaimedImport, deadline: number): Promise<void> {
  const read = createRowReader(claim.layout)
  for await (const batch of readAhead(readRows(ctx.db, claim, claim))) {
    if (batch.kind === 'broken') return endImport(ctx, claim, 'failed', batch.reason)
    const rows = batch.rows.flatMap((row) => readRow(read, row))
    const next = batch.rows.at(-1)?.next ?? claim
    const result = await writeWithBisection(ctx, claim, rows, next)
    if (result === 'lost') return
    if (result === 'no audience') return endImport(ctx, claim, 'failed', 'the audience was deleted')
    if (performance.now() > deadline) return releaseImport(ctx.db, claim, 0)
  }
  await endImport(ctx, claim, 'done', null)
}

/** Yields each batch while the next one is read. */
async function* readAhead(batches: AsyncGenerator<FileBatch>): AsyncGenerator<FileBatch> {
  let next = batches.next()
  for (;;) {
    const { done, value } = await next
    if (done === true) return
    next = batches.next()
    next.catch(() => undefined) // the error is thrown when this batch is awaited, or ignored if nobody awaits it
    yield value
  }
}

function readRow(read: ReturnType<typeof createRowReader>, { cells, line, next }: FileRow): ParsedRow[] {
  const result = read(cells)
  if (result.kind === 'blank') return []
  return [
    result.kind === 'wrong'
      ? { line, next, errors: result.errors }
      : { line, next, contact: result.row, isUnsubscribed: result.isUnsubscribed },
  ]
}

/** SQLSTATE classes 22 (data), 23 (constraint) and 54 (program limit). */
const DATA_SQLSTATES = /^(22|23|54)/

async function writeWithBisection(
  ctx: ImportContext,
  claim: ClaimedImport,
  rows: readonly ParsedRow[],
  next: FilePosition,
): Promise<BatchResult> {
  try {
    return await writeBatch(ctx, claim, rows, next)
  } catch (error) {
    const [row] = rows
    if (row === undefined || !isDataError(error)) throw error
    if (rows.length === 1)
      return writeBatch(ctx, claim, [{ line: row.line, next, errors: [unstorableRow(error)] }], next)
    const half = rows.slice(0, rows.length / 2)
    const first = await writeWithBisection(ctx, claim, half, half.at(-1)?.next ?? next)
    return first === 'written' ? writeWithBisection(ctx, claim, rows.slice(half.length), next) : first
  }
}

function isDataError(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && DATA_SQLSTATES.test(error.code)
}

function unstorableRow(error: Error): CellError {
  const isTooLarge = 'constraint' in error && error.constraint === 'contacts_attributes_size'
  const message = isTooLarge
    ? 'the custom attributes of the contact would be larger than 64 KB'
    : 'the row cannot be stored'
  return { column: null, message, value: null }
}

async function endImport(
  ctx: ImportContext,
  claim: ClaimedImport,
  state: 'done' | 'failed',
  reason: string | null,
): Promise<void> {
  await ctx.db.query(
    sql`
      UPDATE imports
      SET state = $3, reason = $4, lease = NULL, leased_until = NULL, updated_at = now(), finished_at = now()
      WHERE id = $1 AND lease = $2
    `,
    [claim.id, claim.lease, state, reason],
  )
  ctx.log.info({ import: claim.id, workspace: claim.workspaceId, state, reason }, 'import ended')
}

/** Releases the lease; any worker may run the next slice. */
async function releaseImport(db: Queryable, { id, lease }: ImportClaim, newFailures: 0 | 1): Promise<void> {
  await db.query(
    sql`
      UPDATE imports
      SET lease = NULL,
        leased_until = NULL,
        updated_at = now(),
        faults = faults + $3,
        state = CASE WHEN faults + $3 >= ${MAX_FAILURES} THEN 'failed' ELSE state END,
        finished_at = CASE WHEN faults + $3 >= ${MAX_FAILURES} THEN now() END,
        reason = CASE WHEN faults + $3 >= ${MAX_FAILURES} THEN 'internal error; see the log of the worker' END
      WHERE id = $1 AND lease = $2
    `,
    [id, lease, newFailures],
  )
}
