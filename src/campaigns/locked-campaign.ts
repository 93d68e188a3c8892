/**
 * A campaign with work to do, read under its row lock. Only the lock's owner writes the ledger, dispatches from it or
 * completes the campaign, so two workers never process the same slice and a pause takes effect between slices.
 */
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import type { Variant } from './statistics.ts'
import type { CampaignState } from './state.ts'

export type SendMode = 'at_once' | 'recipient_time' | 'spread'

export interface LockedCampaign {
  readonly id: string
  readonly workspaceId: string
  readonly plan: string
  readonly status: CampaignState
  readonly startsAt: Date | null
  readonly startedAt: Date
  readonly audienceIds: readonly string[]
  readonly segmentId: string | null
  readonly followsId: string | null
  readonly isWritten: boolean
  readonly lastContactId: string | null
  readonly written: number
  readonly generation: number
  readonly isRetrying: boolean
  readonly retriedId: string | null
  /** When messages of the campaign last entered the queue. */
  readonly dispatchedAt: Date | null
  /** Receivers that slow the campaign down (slow-receivers.ts). */
  readonly slow: readonly string[]
  readonly domainId: string | null
  readonly contentId: string
  readonly contentBId: string | null
  readonly subject: string | null
  readonly subjectB: string | null
  readonly fromEmail: string
  readonly fromName: string | null
  readonly replyTo: string | null
  readonly trackOpens: boolean | null
  readonly trackClicks: boolean | null
  readonly testPercent: number | null
  readonly testMinutes: number | null
  readonly winner: Variant | null
  readonly sendMode: SendMode
  readonly spreadMinutes: number | null
  readonly localTime: string | null
  readonly timezone: string | null
}

const LOCK = prepared(
  'campaign-lock',
  sql`
    SELECT k.id, k.workspace_id AS "workspaceId", w.plan, k.status, k.starts_at AS "startsAt",
      k.started_at AS "startedAt", k.audience_ids AS "audienceIds", k.segment_id AS "segmentId",
      k.follows_id AS "followsId", k.is_written AS "isWritten", k.last_contact_id AS "lastContactId", k.written,
      k.generation, k.is_retrying AS "isRetrying", k.retried_id AS "retriedId", k.dispatched_at AS "dispatchedAt",
      k.slow, k.domain_id AS "domainId", k.content_id AS "contentId", k.content_b_id AS "contentBId", m.subject,
      k.subject_b AS "subjectB", k.from_email AS "fromEmail", k.from_name AS "fromName", k.reply_to AS "replyTo",
      k.track_opens AS "trackOpens", k.track_clicks AS "trackClicks", k.test_percent AS "testPercent",
      k.test_minutes AS "testMinutes", k.winner, k.send_mode AS "sendMode", k.spread_minutes AS "spreadMinutes",
      k.local_time AS "localTime", k.timezone
    FROM campaigns k
    JOIN workspaces w ON w.id = k.workspace_id
    LEFT JOIN mail_contents m ON m.id = k.content_id
    WHERE k.id = $1 AND k.is_open
    FOR UPDATE OF k SKIP LOCKED
  `,
)

/** Null if another worker holds the lock or the campaign has no work left. */
export async function lockCampaign(tx: Queryable, id: string): Promise<LockedCampaign | null> {
  const { rows } = await tx.query<LockedCampaign>(LOCK, [id])
  return rows[0] ?? null
}

const LIST_OPEN = prepared(
  'campaigns-open',
  sql`
    SELECT id, workspace_id AS "workspaceId", status, starts_at AS "startsAt"
    FROM campaigns
    WHERE is_open
    ORDER BY id
  `,
)

/** Campaigns with work to do, oldest first. */
export async function listOpenCampaigns(
  db: Queryable,
): Promise<{ id: string; workspaceId: string; status: CampaignState; startsAt: Date | null }[]> {
  const { rows } = await db.query<{
    id: string
    workspaceId: string
    status: CampaignState
    startsAt: Date | null
  }>(LIST_OPEN)
  return rows
}

/**
 * True while any campaign of any workspace is being dispatched, so that less urgent work can wait. Campaigns waiting
 * for a send time do not count.
 */
export async function isAnyCampaignSending(db: Queryable): Promise<boolean> {
  const { rows } = await db.query(sql`
    SELECT FROM campaigns
    WHERE is_open AND status = 'SENDING' AND coalesce(dispatched_at, started_at) > now() - interval '1 minute'
    LIMIT 1
  `)
  return rows.length > 0
}
