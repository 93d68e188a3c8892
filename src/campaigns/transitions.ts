/**
 * The only module that writes a campaign's status. Each UPDATE names the states that the move may leave (state.ts), so
 * of two concurrent conflicting moves one succeeds and the other returns the current state.
 */
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { CAMPAIGN_MOVES, type CampaignState } from './state.ts'

export type CampaignMove = keyof typeof CAMPAIGN_MOVES

/** Columns that a move can set. */
const UPDATABLE_COLUMNS = [
  'reason',
  'is_open',
  'is_forced',
  'scheduled_at',
  'starts_at',
  'timezone',
  'send_mode',
  'local_time',
  'domain_id',
  'content_id',
  'content_b_id',
  'started_at',
  'sent_at',
  'ended_at',
  'is_retrying',
  'retried_id',
  'generation',
] as const
export type CampaignUpdates = Readonly<Partial<Record<(typeof UPDATABLE_COLUMNS)[number], unknown>>>

export interface CampaignKey {
  readonly workspaceId: string
  readonly id: string
}

export type CampaignMoveResult =
  | { readonly kind: 'moved'; readonly status: CampaignState }
  | { readonly kind: 'not-found' }
  /** The campaign is in a state that the move cannot leave. */
  | { readonly kind: 'wrong-state'; readonly status: CampaignState }

export async function moveCampaign(
  db: Queryable,
  { workspaceId, id }: CampaignKey,
  move: CampaignMove,
  updates: CampaignUpdates = {},
): Promise<CampaignMoveResult> {
  const { from, to } = CAMPAIGN_MOVES[move]
  const columns = UPDATABLE_COLUMNS.filter((column) => updates[column] !== undefined)
  const assigned = columns.map((column, i) => `, ${column} = $${i + 5}`).join('')
  const { rowCount } = await db.query(
    sql`
      UPDATE campaigns
      SET status = $3, updated_at = now()${assigned}
      WHERE workspace_id = $1 AND id = $2 AND status = ANY ($4::text[])
    `,
    [workspaceId, id, to, from, ...columns.map((column) => updates[column])],
  )
  if (rowCount === 1) return { kind: 'moved', status: to }
  const {
    rows: [row],
  } = await db.query<{ status: CampaignState }>('SELECT status FROM campaigns WHERE workspace_id = $1 AND id = $2', [
    workspaceId,
    id,
  ])
  return row === undefined ? { kind: 'not-found' } : { kind: 'wrong-state', status: row.status }
}
