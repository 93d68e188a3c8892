/**
 * A campaign that the worker has something to do with, read under its lock: whoever holds it is the only one who writes the ledger,
 * dispatches from it or ends it, so two workers never take the same slice, and pausing comes between two slices.
 */
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import type { Variant } from './statistics.ts'
import type { CampaignState } from './state.ts'

export type SendMode = 'at_once' | 'recipient_time' | 'spread'

export interface Running {
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
  /** When mail of it last went into the queue. */
  readonly dispatchedAt: Date | null
  /** Receivers that hold it up (slow-receivers.ts). */
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

/** Null: another worker has it, or there is nothing to do any more. */
export async function lockCampaign(tx: Queryable, id: string): Promise<Running | null> {
  const { rows } = await tx.query<Running>(LOCK, [id])
  return rows[0] ?? null
}

/** Those that the worker has something to do with, the oldest first. */
export async function listOpen(
  db: Queryable,
): Promise<{ id: string; workspaceId: string; status: CampaignState; startsAt: Date | null }[]> {
  const { rows } = await db.query<{
    id: string
    workspaceId: string
    status: CampaignState
    startsAt: Date | null
  }>(sql`
    SELECT id, workspace_id AS "workspaceId", status, starts_at AS "startsAt"
    FROM campaigns
    WHERE is_open
    ORDER BY id
  `)
  return rows
}

/** True while any campaign of any workspace goes into the queue: what can wait may. One that waits for its time is not meant. */
export async function isSending(db: Queryable): Promise<boolean> {
  const { rows } = await db.query(sql`
    SELECT FROM campaigns
    WHERE is_open AND status = 'SENDING' AND coalesce(dispatched_at, started_at) > now() - interval '1 minute'
    LIMIT 1
  `)
  return rows.length > 0
}
