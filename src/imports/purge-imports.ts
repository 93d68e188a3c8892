/**
 * What an import leaves when it has ended: its file and the hashes of its addresses go a slice at a time; an upload that nobody goes on
 * with is cancelled after an hour. Each step can be repeated, and two may do it at once.
 */
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

const CHUNKS = 100
const HASHES = 50_000

const END_ABANDONED = sql`
  UPDATE imports
  SET state = 'cancelled', reason = 'the file never came to its end', updated_at = now(), finished_at = now()
  WHERE NOT is_cleared AND state = 'uploading' AND updated_at < now() - interval '1 hour'
`
const FIND = sql`
  SELECT id
  FROM imports
  WHERE NOT is_cleared AND state IN ('done', 'failed', 'cancelled')
  ORDER BY updated_at
  LIMIT 1
`
const SLICES = [
  sql`
    DELETE FROM import_chunks
    WHERE import_id = $1
      AND n IN (
        SELECT n
        FROM import_chunks
        WHERE import_id = $1
        ORDER BY n
        LIMIT ${CHUNKS}
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
        LIMIT ${HASHES}
      )
  `,
]
/** One slice. True when there is more. */
export async function clearImports(db: Queryable): Promise<boolean> {
  await db.query(END_ABANDONED)
  const {
    rows: [ended],
  } = await db.query<{ id: string }>(FIND)
  if (ended === undefined) return false
  let removed = 0
  for (const slice of SLICES) removed += (await db.query(slice, [ended.id])).rowCount ?? 0
  if (removed > 0) return true
  await db.query('UPDATE imports SET is_cleared = true WHERE id = $1', [ended.id])
  return true
}
