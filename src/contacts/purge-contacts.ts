/**
 * Purges deleted audiences in batches: their memberships, and the contacts that were in no other audience. Two workers
 * purge different audiences. A contact is checked under its lock, so one that was added to another audience meanwhile
 * stays.
 */
import type { Db, Queryable } from '#src/stores/db.ts'

const BATCH_SIZE = 2000

/** Purges one batch. True if there may be more. */
export function purgeDeletedAudiences(db: Pick<Db, 'transaction'>): Promise<boolean> {
  return db.transaction(async (tx) => {
    const {
      rows: [audience],
    } = await tx.query<{ id: string }>(
      'SELECT id FROM audiences WHERE deleted_at IS NOT NULL LIMIT 1 FOR UPDATE SKIP LOCKED',
    )
    if (audience === undefined) return false
    const purged = await purgeMembers(tx, audience.id)
    if (purged < BATCH_SIZE) await purgeAudience(tx, audience.id)
    return true
  })
}

async function purgeMembers(tx: Queryable, audienceId: string): Promise<number> {
  const members = await tx.query<{ id: string }>(
    `SELECT contact_id AS id FROM memberships WHERE audience_id = $1 LIMIT ${BATCH_SIZE}`,
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

/** A transaction that was removing members may commit deltas later; apply-counter-deltas.ts deletes them. */
async function purgeAudience(tx: Queryable, audienceId: string): Promise<void> {
  await tx.query('DELETE FROM audience_marks WHERE audience_id = $1', [audienceId])
  await tx.query('DELETE FROM membership_changes WHERE audience_id = $1', [audienceId])
  await tx.query('DELETE FROM audiences WHERE id = $1', [audienceId])
}
