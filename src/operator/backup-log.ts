/**
 * The backups that were made, in the database that they were made of, so that `doctor` can say how old the last one is.
 * A backup that cannot be recorded is still a backup. The table holds the last thousand.
 */
import { newId } from '#src/platform/id.ts'
import type { Db, Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

export interface MadeBackup {
  /** The backup has all changes until then. */
  readonly snapshotAt: Date
  /** Where it is. */
  readonly target: string
  readonly bytes: number
  readonly isEncrypted: boolean
}

const MAX_ROWS = 1000

export async function recordBackup(
  db: Pick<Db, 'transaction'>,
  { snapshotAt, target, bytes, isEncrypted }: MadeBackup,
): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.query(`INSERT INTO backups (id, snapshot_at, target, bytes, is_encrypted) VALUES ($1, $2, $3, $4, $5)`, [
      newId(),
      snapshotAt,
      target,
      bytes,
      isEncrypted,
    ])
    await tx.query(sql`
      DELETE FROM backups
      WHERE id < (
        SELECT id
        FROM backups
        ORDER BY id DESC
        OFFSET ${MAX_ROWS - 1}
        LIMIT 1
      )
    `)
  })
}

/** The last one; null if there is none. */
export async function readLastBackup(db: Queryable): Promise<MadeBackup | null> {
  const { rows } = await db.query<MadeBackup>(sql`
    SELECT snapshot_at AS "snapshotAt", target, bytes, is_encrypted AS "isEncrypted"
    FROM backups
    ORDER BY snapshot_at DESC
    LIMIT 1
  `)
  return rows[0] ?? null
}
