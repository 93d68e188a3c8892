/** When the mail of a campaign was put into the queue, so that a search for it reads no other weeks. */
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

export interface SendingPeriod {
  readonly from: Date
  readonly to: Date
}

/** The clocks of processes may differ by this. */
const SLACK = sql`interval '5 minutes'`

/** Null: the workspace has no such campaign, or it has sent nothing. */
export async function readSendingPeriod(
  db: Queryable,
  workspaceId: string,
  campaignId: string,
): Promise<SendingPeriod | null> {
  const { rows } = await db.query<SendingPeriod>(
    sql`
      SELECT started_at - ${SLACK} AS "from", coalesce(dispatched_at, now()) + ${SLACK} AS "to"
      FROM campaigns
      WHERE workspace_id = $1 AND id = $2 AND started_at IS NOT NULL
    `,
    [workspaceId, campaignId],
  )
  return rows[0] ?? null
}
