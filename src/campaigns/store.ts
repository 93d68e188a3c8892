/**
 * Campaigns of a workspace: made as drafts, found, listed, and changed or deleted while they are drafts; the statement names that state, so
 * what has begun meanwhile is left alone. Their figures: statistics.ts. Another workspace's campaign is as good as none.
 */
import type { Queryable } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import { readPage, type Page, type PageWish } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'
import type { CampaignState } from './state.ts'

/** Of a workspace at a time; those that are over do not count, for they stay. */
export const MAX_CAMPAIGNS = 10_000

/** `undefined`: left out. `null`: cleared. */
export interface CampaignFields {
  readonly name?: string | undefined
  readonly templateId?: string | null | undefined
  readonly subject?: string | null | undefined
  readonly body?: string | null | undefined
  readonly text?: string | null | undefined
  readonly fromEmail?: string | null | undefined
  readonly fromName?: string | null | undefined
  readonly replyTo?: string | null | undefined
  readonly audienceIds?: readonly string[] | undefined
  readonly segmentId?: string | null | undefined
  readonly subjectB?: string | null | undefined
  readonly testPercent?: number | null | undefined
  readonly testMinutes?: number | null | undefined
  readonly spreadMinutes?: number | null | undefined
  readonly trackOpens?: boolean | null | undefined
  readonly trackClicks?: boolean | null | undefined
  readonly followsId?: string | undefined
}

export interface CampaignRow {
  readonly id: string
  readonly name: string
  readonly status: CampaignState
  readonly templateId: string | null
  readonly subject: string | null
  readonly fromEmail: string | null
  readonly fromName: string | null
  readonly replyTo: string | null
  readonly audienceIds: readonly string[]
  readonly segmentId: string | null
  readonly scheduledAt: Date | null
  /** When it leaves SCHEDULED. */
  readonly startsAt: Date | null
  readonly timezone: string | null
  readonly isRecipientTime: boolean
  /** Was scheduled although the preview was red. */
  readonly isForced: boolean
  readonly subjectB: string | null
  readonly testPercent: number | null
  readonly testMinutes: number | null
  readonly winner: 'a' | 'b' | null
  readonly spreadMinutes: number | null
  readonly trackOpens: boolean | null
  readonly trackClicks: boolean | null
  readonly followsId: string | null
  readonly reason: string | null
  readonly startedAt: Date | null
  readonly sentAt: Date | null
  readonly endedAt: Date | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

export interface Campaign extends CampaignRow {
  readonly body: string | null
  /** The text part beside HTML; null: one is made of it. */
  readonly text: string | null
}

const COLUMNS = {
  name: 'name',
  templateId: 'template_id',
  subject: 'subject',
  body: 'body',
  text: 'text_body',
  fromEmail: 'from_email',
  fromName: 'from_name',
  replyTo: 'reply_to',
  audienceIds: 'audience_ids',
  segmentId: 'segment_id',
  subjectB: 'subject_b',
  testPercent: 'test_percent',
  testMinutes: 'test_minutes',
  spreadMinutes: 'spread_minutes',
  trackOpens: 'track_opens',
  trackClicks: 'track_clicks',
  followsId: 'follows_id',
} as const satisfies Record<keyof CampaignFields, string>

const ROW = sql`
  id, name, status, template_id AS "templateId", subject, from_email AS "fromEmail", from_name AS "fromName",
  reply_to AS "replyTo", audience_ids AS "audienceIds", segment_id AS "segmentId", scheduled_at AS "scheduledAt",
  starts_at AS "startsAt", timezone, send_mode = 'recipient_time' AS "isRecipientTime", is_forced AS "isForced",
  subject_b AS "subjectB", test_percent AS "testPercent", test_minutes AS "testMinutes", winner,
  spread_minutes AS "spreadMinutes", track_opens AS "trackOpens", track_clicks AS "trackClicks",
  follows_id AS "followsId", reason, started_at AS "startedAt", sent_at AS "sentAt", ended_at AS "endedAt",
  created_at AS "createdAt", updated_at AS "updatedAt"
`
const WHOLE = `${ROW}, body, text_body AS text`

/** The fields given and what follows from them: a template takes the place of a body, and a body that of a template. */
function given(fields: CampaignFields): (readonly [column: string, value: unknown])[] {
  const whole = {
    ...fields,
    ...(fields.templateId ? { body: null, text: null } : {}),
    ...(fields.body ? { templateId: null } : {}),
  }
  return (Object.keys(COLUMNS) as (keyof CampaignFields)[])
    .filter((field) => whole[field] !== undefined)
    .map((field) => [COLUMNS[field], whole[field]] as const)
}

/** Null when the workspace has as many as it may. */
export async function createCampaign(
  db: Queryable,
  workspaceId: string,
  fields: CampaignFields & { readonly name: string },
): Promise<Campaign | null> {
  const columns = given(fields)
  const { rows } = await db.query<Campaign>(
    sql`
      INSERT INTO campaigns (workspace_id, id, ${columns.map(([column]) => column).join(', ')})
      SELECT $1, $2, ${columns.map((_, i) => `$${i + 3}`).join(', ')}
      WHERE (
        SELECT count(*)
        FROM campaigns
        WHERE workspace_id = $1 AND status NOT IN ('COMPLETED', 'FAILED', 'CANCELLED')
      ) < ${MAX_CAMPAIGNS}
      RETURNING ${WHOLE}
    `,
    [workspaceId, newId(), ...columns.map(([, value]) => value)],
  )
  return rows[0] ?? null
}

export async function findCampaign(db: Queryable, workspaceId: string, id: string): Promise<Campaign | null> {
  const { rows } = await db.query<Campaign>(`SELECT ${WHOLE} FROM campaigns WHERE workspace_id = $1 AND id = $2`, [
    workspaceId,
    id,
  ])
  return rows[0] ?? null
}

/** The newest first, in one state or (null) in any. */
export function listCampaigns(
  db: Queryable,
  workspaceId: string,
  wish: PageWish & { readonly status: CampaignState | null },
): Promise<Page<CampaignRow>> {
  const where = 'workspace_id = $1 AND ($2::text IS NULL OR status = $2)'
  return readPage(
    db,
    { columns: ROW, from: 'campaigns', where, order: 'id DESC', values: [workspaceId, wish.status] },
    wish,
  )
}

/** Why it was left alone. */
export type Unchanged = { readonly kind: 'not-found' } | { readonly kind: 'not-draft'; readonly status: CampaignState }

export type ChangedCampaign = Unchanged | { readonly kind: 'changed'; readonly campaign: Campaign }

export async function changeDraft(
  db: Queryable,
  workspaceId: string,
  id: string,
  fields: CampaignFields,
): Promise<ChangedCampaign> {
  const columns = given(fields)
  const sets = columns.map(([column], i) => `${column} = $${i + 3}, `).join('')
  const {
    rows: [campaign],
  } = await db.query<Campaign>(
    sql`
      UPDATE campaigns
      SET ${sets}updated_at = now()
      WHERE workspace_id = $1 AND id = $2 AND status = 'DRAFT'
      RETURNING ${WHOLE}
    `,
    [workspaceId, id, ...columns.map(([, value]) => value)],
  )
  return campaign === undefined ? explain(db, workspaceId, id) : { kind: 'changed', campaign }
}

/** Null when it is gone. */
export async function deleteDraft(db: Queryable, workspaceId: string, id: string): Promise<Unchanged | null> {
  const { rowCount } = await db.query(
    `DELETE FROM campaigns WHERE workspace_id = $1 AND id = $2 AND status = 'DRAFT'`,
    [workspaceId, id],
  )
  return rowCount === 1 ? null : explain(db, workspaceId, id)
}

async function explain(db: Queryable, workspaceId: string, id: string): Promise<Unchanged> {
  const found = await findCampaign(db, workspaceId, id)
  return found === null ? { kind: 'not-found' } : { kind: 'not-draft', status: found.status }
}
