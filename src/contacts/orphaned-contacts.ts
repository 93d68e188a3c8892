/**
 * An orphaned contact is a member of deleted audiences only, and the worker has not purged it yet. Nobody sees it any
 * more. A contact that is a member of no audience at all is not orphaned: it was removed from its last one, and stays.
 */
import { sql } from '#src/stores/sql.ts'

/** SQL condition for a contact `c`. */
export const IS_ORPHANED = sql`
  (
    EXISTS (SELECT 1 FROM memberships m WHERE m.contact_id = c.id)
    AND NOT EXISTS (
      SELECT 1
      FROM memberships m
      JOIN audiences a ON a.id = m.audience_id
      WHERE m.contact_id = c.id AND a.deleted_at IS NULL
    )
  )
`
