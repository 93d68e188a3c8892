/** The usage of a workspace, for display. src/messages/quota.ts counts the quota. */
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

export interface WorkspaceUsage {
  readonly name: string
  readonly keyPart: string
  readonly createdAt: Date
  /** Recipients accepted in the month of `now` (UTC). */
  readonly used: number
  /** Active keys that have not expired, by kind. */
  readonly adminKeys: number
  readonly regularKeys: number
}

const LIVE = 'is_active AND (expires_at IS NULL OR expires_at > $2)'
const READ = sql`
  SELECT w.name, w.key_part AS "keyPart", w.created_at AS "createdAt",
    coalesce(
      (
        SELECT used
        FROM usage
        WHERE workspace_id = w.id AND period = date_trunc('month', $2::timestamptz AT TIME ZONE 'UTC')
      ),
      0
    ) AS used,
    count(k.id) FILTER (WHERE k.kind = 'admin') AS "adminKeys",
    count(k.id) FILTER (WHERE k.kind = 'regular') AS "regularKeys"
  FROM workspaces w
  LEFT JOIN api_keys k ON k.workspace_id = w.id AND ${LIVE}
  WHERE w.id = $1
  GROUP BY w.id
`

/** Null when the workspace does not exist. */
export async function readUsage(db: Queryable, workspaceId: string, now: Date): Promise<WorkspaceUsage | null> {
  const { rows } = await db.query<WorkspaceUsage>(READ, [workspaceId, now])
  return rows[0] ?? null
}

/** When the monthly quota starts anew: the start of the next month (UTC). */
export function nextMonth(now: Date): Date {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1))
}
