/**
 * What is left of deleted audiences goes, a slice at a time: memberships, and the contacts that were in nothing else. Two workers take
 * different audiences. A contact is looked at under its lock, so one that has just been taken into another audience stays.
 */
import type { Db, Queryable } from '#src/stores/db.ts'

const SLICE = 2000

/** One slice. True when there is more. */
export function clearDeleted(db: Pick<Db, 'transaction'>): Promise<boolean> {
  return db.transaction(async (tx) => {
    const {
      rows: [audience],
    } = await tx.query<{ id: string }>(
      'SELECT id FROM audiences WHERE deleted_at IS NOT NULL LIMIT 1 FOR UPDATE SKIP LOCKED',
    )
    if (audience === undefined) return false
    const cleared = await clearSlice(tx, audience.id)
    if (cleared < SLICE) await clearRest(tx, audience.id)
    return true
  })
}

async function clearSlice(tx: Queryable, audienceId: string): Promise<number> {
  const members = await tx.query<{ id: string }>(
    `SELECT contact_id AS id FROM memberships WHERE audience_id = $1 LIMIT ${SLICE}`,
    [audienceId],
  )
  const ids = members.rows.map(({ id }) => id)
  await tx.query('SELECT 1 FROM contacts WHERE id = ANY ($1) ORDER BY email FOR UPDATE', [ids])
  await tx.query(`SELECT set_config('mailstead.notes', 'sums', true)`)
  await tx.query('DELETE FROM memberships WHERE audience_id = $1 AND contact_id = ANY ($2)', [audienceId, ids])
  await tx.query(
    'DELETE FROM contacts c WHERE id = ANY ($1) AND NOT EXISTS (SELECT 1 FROM memberships m WHERE m.contact_id = c.id)',
    [ids],
  )
  return ids.length
}

/** Notes that come later, from who was removing members at that moment, are forgotten by apply-counter-deltas.ts. */
async function clearRest(tx: Queryable, audienceId: string): Promise<void> {
  await tx.query('DELETE FROM audience_marks WHERE audience_id = $1', [audienceId])
  await tx.query('DELETE FROM membership_changes WHERE audience_id = $1', [audienceId])
  await tx.query('DELETE FROM audiences WHERE id = $1', [audienceId])
}
