/**
 * Sends a dispatched campaign again to the recipients whose message failed, as a new generation. The worker reopens the
 * ledger rows in slices.
 */
import type { Queryable } from '#src/stores/db.ts'
import { moveCampaign, type CampaignKey, type CampaignMoveResult } from './transitions.ts'

export async function retryFailed(db: Queryable, key: CampaignKey): Promise<CampaignMoveResult> {
  const {
    rows: [row],
  } = await db.query<{ generation: number }>('SELECT generation FROM campaigns WHERE workspace_id = $1 AND id = $2', [
    key.workspaceId,
    key.id,
  ])
  return moveCampaign(db, key, 'retry', {
    is_open: true,
    is_retrying: true,
    retried_id: null,
    generation: (row?.generation ?? 1) + 1,
    sent_at: null,
    ended_at: null,
    reason: null,
  })
}
