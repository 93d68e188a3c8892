/**
 * Imports of a workspace: listed, looked at, cancelled; always together with the workspace's id, so that tenants stay apart. Cancelling
 * waits for the batch under way, which counts; the next one finds its lease gone and writes nothing.
 */
import type { Queryable } from '#src/stores/db.ts'
import { readPage, type Page, type PageWish } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'
import type { Layout } from './column-layout.ts'

/** Where an import stands, a sentence each. */
export const IMPORT_STATES = {
  uploading: 'the file is still coming in',
  waiting: 'the file is stored and waits for a worker',
  running: 'rows are carried out',
  done: 'all rows were carried out',
  failed: 'it ended early; `reason` says why, and the rows before that place were carried out',
  cancelled: 'somebody ended it; the rows before that were carried out',
} as const
export type ImportState = keyof typeof IMPORT_STATES

/** What was counted so far. Each row that is neither failed nor a duplicate is added or updated. */
export interface Counts {
  readonly rowCount: number
  /** New contacts. */
  readonly added: number
  /** Contacts that were there before. */
  readonly updated: number
  /** Of both: those that were not in the audience before. */
  readonly joined: number
  /** Rows whose address the file has more than once: the last one wins, this counts the others. */
  readonly duplicates: number
  readonly failed: number
  /** Of added and updated: on the suppression list, so nothing is sent to them. */
  readonly blocked: number
  /** Of added and updated: unsubscribed in this audience, and they stay so. */
  readonly unsubscribed: number
}

export interface Import extends Counts {
  readonly id: string
  readonly audienceId: string
  readonly state: ImportState
  readonly isDryRun: boolean
  readonly layout: Layout
  readonly bytes: number
  /** Bytes that are carried out. */
  readonly position: number
  readonly reason: string | null
  readonly createdAt: Date
  readonly finishedAt: Date | null
}

export interface RowError {
  readonly line: number
  /** Null: it is about the whole row. */
  readonly column: string | null
  readonly message: string
  /** The beginning of the cell. */
  readonly value: string | null
}

/** Kept of one import; all are counted. */
export const MAX_ERRORS = 1000

const COLUMNS = sql`
  id, audience_id AS "audienceId", state, is_dry_run AS "isDryRun", layout, bytes, position, row_count AS "rowCount",
  added, updated, joined, duplicates, failed, blocked, unsubscribed, reason, created_at AS "createdAt",
  finished_at AS "finishedAt"
`

export async function findImport(db: Queryable, workspaceId: string, id: string): Promise<Import | null> {
  const { rows } = await db.query<Import>(`SELECT ${COLUMNS} FROM imports WHERE workspace_id = $1 AND id = $2`, [
    workspaceId,
    id,
  ])
  return rows[0] ?? null
}

/** The newest first. */
export function listImports(db: Queryable, workspaceId: string, wish: PageWish): Promise<Page<Import>> {
  return readPage(
    db,
    { columns: COLUMNS, from: 'imports', where: 'workspace_id = $1', order: 'id DESC', values: [workspaceId] },
    wish,
  )
}

export async function listErrors(db: Queryable, importId: string): Promise<RowError[]> {
  const { rows } = await db.query<RowError>(
    sql`
      SELECT line, column_name AS "column", message, value
      FROM import_errors
      WHERE import_id = $1
      ORDER BY line, n
      LIMIT ${MAX_ERRORS}
    `,
    [importId],
  )
  return rows
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
  return (await findImport(db, workspaceId, id)) === null ? 'none' : 'ended before'
}

/** True while any import of any workspace waits or is carried out: what can wait may. */
export async function isImporting(db: Queryable): Promise<boolean> {
  const { rows } = await db.query(
    `SELECT 1 FROM imports WHERE NOT is_cleared AND state IN ('waiting', 'running') LIMIT 1`,
  )
  return rows.length > 0
}
