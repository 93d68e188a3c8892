/**
 * A ghost: a contact whose every audience was deleted and that the worker has not cleared yet. It is gone for everybody. A contact that is
 * in no audience at all is none: it was taken out of its last one, and stays.
 */
import { sql } from '#src/stores/sql.ts'

/** SQL condition on a contact `c`. */
export const GHOST = sql`
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
