/** The audiences that a contact is in. */
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

export interface ContactMembership {
  readonly audienceId: string
  readonly audienceName: string
  readonly isSubscribed: boolean
  readonly joinedAt: Date
  readonly updatedAt: Date
}

const MAX_MEMBERSHIPS = 1000
const READ = sql`
  SELECT m.audience_id AS "audienceId", a.name AS "audienceName", m.is_subscribed AS "isSubscribed",
    m.created_at AS "joinedAt", m.updated_at AS "updatedAt"
  FROM memberships m
  JOIN audiences a ON a.id = m.audience_id AND a.deleted_at IS NULL
  WHERE m.workspace_id = $1 AND m.contact_id = $2
  ORDER BY m.created_at DESC, m.audience_id DESC
  LIMIT ${MAX_MEMBERSHIPS}
`

/** The latest first; at most 1000. */
export async function listMemberships(
  db: Queryable,
  workspaceId: string,
  contactId: string,
): Promise<readonly ContactMembership[]> {
  return (await db.query<ContactMembership>(READ, [workspaceId, contactId])).rows
}
