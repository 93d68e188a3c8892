/**
 * What happens to the open invitations of somebody who loses rights: they are worth no more than the rights of who made
 * them, so they end in the same transaction.
 */
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

/** Ends the open invitations that the user made: to one workspace, or all. */
export async function revokeInvitationsOf(tx: Queryable, userId: string, workspaceId: string | null): Promise<void> {
  await tx.query(
    sql`
      UPDATE invitations
      SET revoked_at = now()
      WHERE invited_by = $1
        AND ($2::uuid IS NULL OR workspace_id = $2)
        AND accepted_at IS NULL
        AND revoked_at IS NULL
    `,
    [userId, workspaceId],
  )
}

/** Ends the open invitations with the rights of an operator that the user made. */
export async function revokeOperatorInvitationsOf(tx: Queryable, userId: string): Promise<void> {
  await tx.query(
    sql`
      UPDATE invitations
      SET revoked_at = now()
      WHERE invited_by = $1 AND is_operator AND accepted_at IS NULL AND revoked_at IS NULL
    `,
    [userId],
  )
}
