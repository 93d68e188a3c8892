/**
 * Imports of a workspace: list, find, cancel. Every query names the workspace, so no tenant sees another's imports.
 * Cancelling waits for the batch that is being written, which counts; the next batch finds its lease gone and writes
 * nothing.
 */
import type { Queryable } from '#src/stores/db.ts'
import { newestFirst, readPage, readUncounted, type ListOrder, type Page, type PageRequest } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'
import type { Layout } from './column-layout.ts'

/** The states of an import, with their meaning. */
export const IMPORT_STATES = {
  uploading: 'the file is being uploaded',
  waiting: 'the file is stored and waits for a worker',
  running: 'rows are being imported',
  done: 'all rows were processed',
  failed: 'the import ended early; `reason` says why; the rows before that point were imported',
  cancelled: 'the import was cancelled; the rows before that point were imported',
} as const
export type ImportState = keyof typeof IMPORT_STATES

/** Counts so far. Each row that is neither failed nor a duplicate is added or updated. */
export interface ImportCounts {
  readonly rowCount: number
  /** New contacts. */
  readonly added: number
  /** Contacts that already existed. */
  readonly updated: number
  /** Added and updated contacts that joined the audience. */
  readonly joined: number
  /** Rows whose address occurs in the file again: the last one wins, this counts the others. */
  readonly duplicates: number
  readonly failed: number
  /** Added and updated contacts that are on the suppression list: they receive no mail. */
  readonly blocked: number
  /** Added and updated contacts that are unsubscribed in this audience, and stay so. */
  readonly unsubscribed: number
}

export interface Import extends ImportCounts {
  readonly id: string
  readonly audienceId: string
  readonly state: ImportState
  readonly isDryRun: boolean
  readonly layout: Layout
  readonly bytes: number
  /** Bytes that were processed. */
  readonly position: number
  /** Imports of all workspaces that are processed before it; 0 while it runs, null after it ended or during upload. */
  readonly queuePosition: number | null
  readonly reason: string | null
  readonly createdAt: Date
  readonly finishedAt: Date | null
}

export interface RowError {
  readonly line: number
  /** Null: the whole row. */
  readonly column: string | null
  readonly message: string
  /** The first characters of the cell. */
  readonly value: string | null
}

/** Errors stored per import; all are counted. */
export const MAX_ERRORS = 1000

/** When the workspace of the import `i` had its last turn; null: not yet. Its newest imports are enough to know. */
export const LAST_TURN = sql`
  (
    SELECT max(served.updated_at)
    FROM (
      SELECT updated_at
      FROM imports
      WHERE workspace_id = i.workspace_id AND state NOT IN ('uploading', 'waiting')
      ORDER BY id DESC
      LIMIT 20
    ) served
  )
`
// the order of `claimImport` (import-runner.ts), if no import needs a second turn: those that run now, then round by
// round one import of each workspace
const QUEUE_POSITION = sql`
  CASE
    WHEN state NOT IN ('waiting', 'running') THEN NULL
    WHEN leased_until >= now() THEN 0
    ELSE (
      SELECT before
      FROM (
        SELECT id, row_number() OVER (ORDER BY leased_until >= now() DESC NULLS LAST, round, turn NULLS FIRST,
          updated_at, id)::int - 1 AS before
        FROM (
          SELECT i.id, i.updated_at, i.leased_until, ${LAST_TURN} AS turn,
            row_number() OVER (PARTITION BY i.workspace_id ORDER BY i.updated_at, i.id) AS round
          FROM imports i
          WHERE NOT i.is_cleared AND i.state IN ('waiting', 'running')
        ) open_imports
      ) queue
      WHERE queue.id = imports.id
    )
  END
`
const COLUMNS = sql`
  id, audience_id AS "audienceId", state, is_dry_run AS "isDryRun", layout, bytes, position, row_count AS "rowCount",
  added, updated, joined, duplicates, failed, blocked, unsubscribed, reason, created_at AS "createdAt",
  finished_at AS "finishedAt", ${QUEUE_POSITION} AS "queuePosition"
`

export async function findImport(db: Queryable, workspaceId: string, id: string): Promise<Import | null> {
  const { rows } = await db.query<Import>(`SELECT ${COLUMNS} FROM imports WHERE workspace_id = $1 AND id = $2`, [
    workspaceId,
    id,
  ])
  return rows[0] ?? null
}

/** Newest first. */
export function listImports(db: Queryable, workspaceId: string, page: PageRequest): Promise<Page<Import>> {
  return readPage(
    db,
    { columns: COLUMNS, from: 'imports', where: 'workspace_id = $1', order: newestFirst(), values: [workspaceId] },
    page,
  )
}

/** In the order of the file. */
export function listErrors(
  db: Queryable,
  importId: string,
  page: Pick<PageRequest, 'limit' | 'at'> = { limit: MAX_ERRORS },
): Promise<Page<RowError>> {
  const order: ListOrder = {
    by: [
      { sql: 'line', type: 'bigint' },
      { sql: 'n', type: 'smallint' },
    ],
    direction: 'ASC',
  }
  const columns = 'line, column_name AS "column", message, value'
  const listing = { columns, from: 'import_errors', where: 'import_id = $1', order, values: [importId] }
  return readUncounted(db, listing, page)
}

export type CancelResult = 'cancelled' | 'ended before' | 'none'

export async function cancelImport(db: Queryable, workspaceId: string, id: string): Promise<CancelResult> {
  const { rowCount } = await db.query(
    sql`
      UPDATE imports
      SET state = 'cancelled', lease = NULL, leased_until = NULL, updated_at = now(), finished_at = now()
      WHERE workspace_id = $1 AND id = $2 AND state IN ('uploading', 'waiting', 'running')
    `,
    [workspaceId, id],
  )
  if (rowCount === 1) return 'cancelled'
  const found = await findImport(db, workspaceId, id)
  if (found === null) return 'none'
  return found.state === 'cancelled' ? 'cancelled' : 'ended before'
}

/** True while any import of any workspace waits or runs: work that is not urgent can wait. */
export async function isImporting(db: Queryable): Promise<boolean> {
  const { rows } = await db.query(
    `SELECT 1 FROM imports WHERE NOT is_cleared AND state IN ('waiting', 'running') LIMIT 1`,
  )
  return rows.length > 0
}
