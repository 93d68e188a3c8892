/**
 * Deletes the stored file and address hashes of imports that have ended, in batches, and cancels uploads that stalled
 * for an hour. Every step can be repeated, and two workers may run it at once.
 */
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

const CHUNKS_PER_BATCH = 100
const HASHES_PER_BATCH = 50_000

const CANCEL_ABANDONED = sql`
  UPDATE imports
  SET state = 'cancelled', reason = 'the upload was not completed', updated_at = now(), finished_at = now()
  WHERE NOT is_cleared AND state = 'uploading' AND updated_at < now() - interval '1 hour'
`
const FIND_ENDED = sql`
  SELECT id
  FROM imports
  WHERE NOT is_cleared AND state IN ('done', 'failed', 'cancelled')
  ORDER BY updated_at
  LIMIT 1
`
const DELETE_BATCH = [
  sql`
    DELETE FROM import_chunks
    WHERE import_id = $1
      AND n IN (
        SELECT n
        FROM import_chunks
        WHERE import_id = $1
        ORDER BY n
        LIMIT ${CHUNKS_PER_BATCH}
      )
  `,
  sql`
    DELETE FROM import_seen
    WHERE import_id = $1
      AND hash IN (
        SELECT hash
        FROM import_seen
        WHERE import_id = $1
        ORDER BY hash
        LIMIT ${HASHES_PER_BATCH}
      )
  `,
]
/** Purges one batch. True if there may be more. */
export async function purgeImports(db: Queryable): Promise<boolean> {
  await db.query(CANCEL_ABANDONED)
  const {
    rows: [ended],
  } = await db.query<{ id: string }>(FIND_ENDED)
  if (ended === undefined) return false
  let removed = 0
  for (const statement of DELETE_BATCH) removed += (await db.query(statement, [ended.id])).rowCount ?? 0
  if (removed > 0) return true
  await db.query('UPDATE imports SET is_cleared = true WHERE id = $1', [ended.id])
  return true
}
