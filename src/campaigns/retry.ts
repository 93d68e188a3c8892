/** A campaign that was dispatched is sent again to those whose mail failed: a generation of its own, opened by the worker slice by slice. */
import type { Queryable } from '#src/stores/db.ts'
import { moveCampaign, type CampaignName, type MoveResult } from './transitions.ts'

export async function retryFailed(db: Queryable, name: CampaignName): Promise<MoveResult> {
  const {
    rows: [row],
  } = await db.query<{ generation: number }>('SELECT generation FROM campaigns WHERE workspace_id = $1 AND id = $2', [
    name.workspaceId,
    name.id,
  ])
  return moveCampaign(db, name, 'retry', {
    is_open: true,
    is_retrying: true,
    retried_id: null,
    generation: (row?.generation ?? 1) + 1,
    sent_at: null,
    ended_at: null,
    reason: null,
  })
}
