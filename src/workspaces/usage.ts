/** What a workspace has used and what it holds, for people. The quota itself is taken in src/messages/quota.ts. */
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

export interface WorkspaceUsage {
  readonly name: string
  readonly keyPart: string
  readonly createdAt: Date
  /** Recipients accepted in the month of `now` (UTC). */
  readonly used: number
  /** Keys that open something now, by their kind. */
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

/** Null when there is no such workspace. */
export async function readUsage(db: Queryable, workspaceId: string, now: Date): Promise<WorkspaceUsage | null> {
  const { rows } = await db.query<WorkspaceUsage>(READ, [workspaceId, now])
  return rows[0] ?? null
}

/** When a month's quota begins anew: the first moment of the next month (UTC). */
export function nextMonth(now: Date): Date {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1))
}
