/**
 * Sends a dispatched campaign again to the recipients whose message failed, as a new generation. The worker reopens the
 * ledger rows in slices. Retention may delete ledger and content at the same time, so both lock the campaign.
 */
import type { Db } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { CAMPAIGN_MOVES, type CampaignState } from './state.ts'
import { moveCampaign, type CampaignKey, type CampaignMoveResult } from './transitions.ts'

/** `deleted`: content and recipients are over their period (src/retention/campaign-ledgers.ts). */
export type RetryResult = CampaignMoveResult | { readonly kind: 'deleted' }

interface RetriedRow {
  readonly generation: number
  readonly status: CampaignState
  readonly isDeleted: boolean
}

const LOCK = sql`
  SELECT generation, status, ended_at IS NOT NULL AND content_id IS NULL AS "isDeleted"
  FROM campaigns
  WHERE workspace_id = $1 AND id = $2
  FOR UPDATE
`

export function retryFailed(db: Pick<Db, 'transaction'>, key: CampaignKey): Promise<RetryResult> {
  return db.transaction(async (tx) => {
    const {
      rows: [row],
    } = await tx.query<RetriedRow>(LOCK, [key.workspaceId, key.id])
    const mayRetry = CAMPAIGN_MOVES.retry.from.some((state) => state === row?.status)
    if (row !== undefined && mayRetry && row.isDeleted) return { kind: 'deleted' }
    return moveCampaign(tx, key, 'retry', {
      is_open: true,
      is_retrying: true,
      retried_id: null,
      generation: (row?.generation ?? 1) + 1,
      sent_at: null,
      ended_at: null,
      reason: null,
    })
  })
}
