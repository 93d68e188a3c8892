/**
 * The only writer of a campaign's status: each UPDATE names the states that the move may leave (state.ts), so of two who want different
 * things at once one gets what it wants, and the other hears how things stand.
 */
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { CAMPAIGN_MOVES, type CampaignState } from './state.ts'

export type CampaignMove = keyof typeof CAMPAIGN_MOVES

/** What changes with a move, by column. */
const SETTABLE = [
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
export type CampaignSets = Readonly<Partial<Record<(typeof SETTABLE)[number], unknown>>>

export interface CampaignName {
  readonly workspaceId: string
  readonly id: string
}

export type MoveResult =
  | { readonly kind: 'moved'; readonly status: CampaignState }
  | { readonly kind: 'not-found' }
  /** It is in a state that the move does not leave. */
  | { readonly kind: 'elsewhere'; readonly status: CampaignState }

export async function moveCampaign(
  db: Queryable,
  { workspaceId, id }: CampaignName,
  move: CampaignMove,
  sets: CampaignSets = {},
): Promise<MoveResult> {
  const { from, to } = CAMPAIGN_MOVES[move]
  const columns = SETTABLE.filter((column) => sets[column] !== undefined)
  const assigned = columns.map((column, i) => `, ${column} = $${i + 5}`).join('')
  const { rowCount } = await db.query(
    sql`
      UPDATE campaigns
      SET status = $3, updated_at = now()${assigned}
      WHERE workspace_id = $1 AND id = $2 AND status = ANY ($4::text[])
    `,
    [workspaceId, id, to, from, ...columns.map((column) => sets[column])],
  )
  if (rowCount === 1) return { kind: 'moved', status: to }
  const {
    rows: [row],
  } = await db.query<{ status: CampaignState }>('SELECT status FROM campaigns WHERE workspace_id = $1 AND id = $2', [
    workspaceId,
    id,
  ])
  return row === undefined ? { kind: 'not-found' } : { kind: 'elsewhere', status: row.status }
}
