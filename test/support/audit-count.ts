/** Counts entries of the audit log. */
import type { Queryable } from '#src/stores/db.ts'

/** The number of entries with this action in these workspaces. */
export async function countAudited(db: Queryable, action: string, workspaces: readonly string[]): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    'SELECT count(*) AS n FROM audit_log WHERE action = $1 AND workspace_id = ANY ($2)',
    [action, workspaces],
  )
  return rows[0]?.n ?? 0
}
