/**
 * Deletes the stored file and address hashes of imports that have ended, in slices, and cancels uploads that stalled
 * for an hour. Every slice is a short transaction that holds the row of its import: it can be repeated after a crash,
 * and two workers purge two imports.
 *
 * A slice is a range of the key. A list of keys would be joined with the table, and for an import that is newer than
 * the statistics of the table PostgreSQL compares each row with each key.
 */
import { prepared, type Db, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

const CHUNKS_PER_SLICE = 100
const HASHES_PER_SLICE = 10_000

const CANCEL_ABANDONED = sql`
  UPDATE imports
  SET state = 'cancelled', reason = 'the upload was not completed', updated_at = now(), finished_at = now()
  WHERE NOT is_cleared AND state = 'uploading' AND updated_at < now() - interval '1 hour'
`
const LOCK_ENDED = prepared(
  'imports-purge-next',
  sql`
    SELECT id
    FROM imports
    WHERE NOT is_cleared AND state IN ('done', 'failed', 'cancelled')
    ORDER BY updated_at
    LIMIT 1
    FOR UPDATE SKIP LOCKED
  `,
)
const DELETE_SLICE = [
  deleteSlice('import_chunks', 'n', CHUNKS_PER_SLICE),
  deleteSlice('import_seen', 'hash', HASHES_PER_SLICE),
]
const MARK_CLEARED = prepared('imports-purge-done', 'UPDATE imports SET is_cleared = true WHERE id = $1')

/** Deletes the rows of an import with the smallest keys. */
function deleteSlice(table: string, key: string, size: number): ReturnType<typeof prepared> {
  return prepared(
    `imports-purge-${table}`,
    sql`
      DELETE FROM ${table}
      WHERE import_id = $1
        AND ${key} <= (
          SELECT max(${key})
          FROM (
            SELECT ${key}
            FROM ${table}
            WHERE import_id = $1
            ORDER BY ${key}
            LIMIT ${size}
          ) slice
        )
    `,
  )
}

/** Purges one slice. True if there may be more. */
export async function purgeImports(db: Db): Promise<boolean> {
  await db.query(CANCEL_ABANDONED)
  return db.transaction(async (tx) => {
    const {
      rows: [ended],
    } = await tx.query<{ id: string }>(LOCK_ENDED)
    if (ended === undefined) return false
    if ((await deleteSlices(tx, ended.id)) === 0) await tx.query(MARK_CLEARED, [ended.id])
    return true
  })
}

async function deleteSlices(tx: Queryable, importId: string): Promise<number> {
  let removed = 0
  for (const statement of DELETE_SLICE) removed += (await tx.query(statement, [importId])).rowCount ?? 0
  return removed
}
