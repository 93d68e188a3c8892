/**
 * Stores the campaigns of a workspace: creates drafts, finds, lists, and changes or deletes drafts. The statements
 * check for the state DRAFT, so a campaign that was started meanwhile is not affected. For statistics see
 * statistics.ts. Campaigns of other workspaces are reported as not found.
 */
import type { Queryable } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import { newestFirst, readPage, type Page, type PageRequest } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'
import type { CampaignState } from './state.ts'

/** Maximum number of unfinished campaigns per workspace. */
export const MAX_CAMPAIGNS = 10_000

/** `undefined`: omitted. `null`: cleared. */
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
  /** When the campaign leaves SCHEDULED. */
  readonly startsAt: Date | null
  readonly timezone: string | null
  readonly isRecipientTime: boolean
  /** Whether it was scheduled despite a red preview. */
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
  /** The text part beside HTML; null: it is generated. */
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
const ROW_WITH_CONTENT = `${ROW}, body, text_body AS text`

/** The given fields as columns. A template clears the body, and a body clears the template. */
function assignedColumns(fields: CampaignFields): (readonly [column: string, value: unknown])[] {
  const normalized = {
    ...fields,
    ...(fields.templateId ? { body: null, text: null } : {}),
    ...(fields.body ? { templateId: null } : {}),
  }
  return (Object.keys(COLUMNS) as (keyof CampaignFields)[])
    .filter((field) => normalized[field] !== undefined)
    .map((field) => [COLUMNS[field], normalized[field]] as const)
}

/** Null if the workspace has reached its limit. */
export async function createCampaign(
  db: Queryable,
  workspaceId: string,
  fields: CampaignFields & { readonly name: string },
): Promise<Campaign | null> {
  const columns = assignedColumns(fields)
  const { rows } = await db.query<Campaign>(
    sql`
      INSERT INTO campaigns (workspace_id, id, ${columns.map(([column]) => column).join(', ')})
      SELECT $1, $2, ${columns.map((_, i) => `$${i + 3}`).join(', ')}
      WHERE (
        SELECT count(*)
        FROM campaigns
        WHERE workspace_id = $1 AND status NOT IN ('COMPLETED', 'FAILED', 'CANCELLED')
      ) < ${MAX_CAMPAIGNS}
      RETURNING ${ROW_WITH_CONTENT}
    `,
    [workspaceId, newId(), ...columns.map(([, value]) => value)],
  )
  return rows[0] ?? null
}

export async function findCampaign(db: Queryable, workspaceId: string, id: string): Promise<Campaign | null> {
  const { rows } = await db.query<Campaign>(
    `SELECT ${ROW_WITH_CONTENT} FROM campaigns WHERE workspace_id = $1 AND id = $2`,
    [workspaceId, id],
  )
  return rows[0] ?? null
}

/** Newest first; `status: null` means any state. */
export function listCampaigns(
  db: Queryable,
  workspaceId: string,
  page: PageRequest & { readonly status: CampaignState | null },
): Promise<Page<CampaignRow>> {
  const where = 'workspace_id = $1 AND ($2::text IS NULL OR status = $2)'
  return readPage(
    db,
    { columns: ROW, from: 'campaigns', where, order: newestFirst(), values: [workspaceId, page.status] },
    page,
  )
}

/** Why a draft was not changed. */
export type NotChanged = { readonly kind: 'not-found' } | { readonly kind: 'not-draft'; readonly status: CampaignState }

export type ChangeDraftResult = NotChanged | { readonly kind: 'changed'; readonly campaign: Campaign }

export async function changeDraft(
  db: Queryable,
  workspaceId: string,
  id: string,
  fields: CampaignFields,
): Promise<ChangeDraftResult> {
  const columns = assignedColumns(fields)
  const sets = columns.map(([column], i) => `${column} = $${i + 3}, `).join('')
  const {
    rows: [campaign],
  } = await db.query<Campaign>(
    sql`
      UPDATE campaigns
      SET ${sets}updated_at = now()
      WHERE workspace_id = $1 AND id = $2 AND status = 'DRAFT'
      RETURNING ${ROW_WITH_CONTENT}
    `,
    [workspaceId, id, ...columns.map(([, value]) => value)],
  )
  return campaign === undefined ? explainNotChanged(db, workspaceId, id) : { kind: 'changed', campaign }
}

/** Null if the draft was deleted. */
export async function deleteDraft(db: Queryable, workspaceId: string, id: string): Promise<NotChanged | null> {
  const { rowCount } = await db.query(
    `DELETE FROM campaigns WHERE workspace_id = $1 AND id = $2 AND status = 'DRAFT'`,
    [workspaceId, id],
  )
  return rowCount === 1 ? null : explainNotChanged(db, workspaceId, id)
}

async function explainNotChanged(db: Queryable, workspaceId: string, id: string): Promise<NotChanged> {
  const found = await findCampaign(db, workspaceId, id)
  return found === null ? { kind: 'not-found' } : { kind: 'not-draft', status: found.status }
}
