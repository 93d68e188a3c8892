/**
 * Changes a complete ledger in slices ordered by contact id, under the campaign's lock: reopens failed rows for a retry
 * and closes the rows of a cancelled campaign.
 */
import type { Queryable } from '#src/stores/db.ts'
import { applyTransitions, type Transition } from '#src/messages/transition.ts'
import type { TransitionResult } from '#src/messages/transition.ts'
import { readOpenWeeks } from '#src/queue/open-weeks.ts'
import { sql } from '#src/stores/sql.ts'
import type { Weeks } from '#src/stores/weeks.ts'
import type { LockedCampaign } from './locked-campaign.ts'

const SLICE = 10_000
const NIL_UUID = '00000000-0000-0000-0000-000000000000'
/** Rows that a retry reopens. Hard bounces, suppressed and skipped recipients stay closed. */
const IS_RETRYABLE = `(l.state = 'failed' OR (l.state = 'bounced' AND l.bounce_type = 'soft'))`

const REOPEN = sql`
  WITH scanned AS MATERIALIZED (
    SELECT campaign_id, contact_id
    FROM campaign_recipients
    WHERE campaign_id = $1 AND contact_id > $2::uuid
    ORDER BY contact_id
    LIMIT ${SLICE}
  ),
  opened AS (
    UPDATE campaign_recipients l
    SET state = 'waiting',
      is_waiting = true,
      sends_at = $3,
      generation = $4,
      message_id = NULL,
      reason = NULL,
      dispatched_at = NULL,
      bounced_at = NULL,
      bounce_type = NULL,
      failed_at = NULL
    FROM scanned s
    WHERE l.campaign_id = s.campaign_id AND l.contact_id = s.contact_id AND NOT l.is_waiting AND ${IS_RETRYABLE}
    RETURNING 1
  ),
  progress AS (
    SELECT (SELECT count(*) FROM scanned) AS scanned,
      (
        SELECT contact_id
        FROM scanned
        ORDER BY contact_id DESC
        LIMIT 1
      ) AS last
  )
  UPDATE campaigns
  SET retried_id = coalesce(p.last, retried_id), is_retrying = p.scanned = ${SLICE}
  FROM progress p
  WHERE id = $1
  RETURNING (SELECT count(*) FROM opened)::int AS opened
`

/** Reopens the failed rows of the next slice. */
export async function reopenFailed(
  tx: Queryable,
  { id, retriedId, generation }: LockedCampaign,
  now: Date,
): Promise<void> {
  await tx.query(REOPEN, [id, retriedId ?? NIL_UUID, now, generation])
}

/** `which` selects one of the two partial indexes of waiting rows. */
const closeQuery = (which: string): string => sql`
  UPDATE campaign_recipients
  SET state = 'cancelled', is_waiting = false, apart = NULL, reason = 'the campaign was cancelled'
  WHERE campaign_id = $1
    AND contact_id = ANY (
      ARRAY(
        SELECT contact_id
        FROM campaign_recipients
        WHERE campaign_id = $1 AND is_waiting AND ${which}
        LIMIT ${SLICE}
      )
    )
`
const CLOSE_QUERIES = [
  closeQuery('apart IS NULL ORDER BY sends_at, contact_id'),
  closeQuery('apart IS NOT NULL ORDER BY apart, sends_at, contact_id'),
]

/** Closes a slice of undispatched rows and returns their number. */
export async function closeWaiting(tx: Queryable, { id }: LockedCampaign): Promise<number> {
  for (const close of CLOSE_QUERIES) {
    const { rowCount } = await tx.query(close, [id])
    if (rowCount !== null && rowCount > 0) return rowCount
  }
  return 0
}

/** Uses the index of open recipients, so settled ones cost nothing, however large the campaign is. */
const listQueued = (weeks: Weeks): string => sql`
  SELECT message_id AS "messageId", n
  FROM recipients
  WHERE campaign_id = $1
    AND ${weeks.contain('message_id')}
    AND is_open
    AND state IN ('scheduled', 'queued', 'deferred')
  LIMIT ${SLICE / 10}
`

/** Cancels queued messages; null if none is queued. Messages being sent at this moment are not affected. */
export async function cancelQueued(tx: Queryable, { id }: LockedCampaign, now: Date): Promise<TransitionResult | null> {
  const { rows } = await tx.query<{ messageId: string; n: number }>(listQueued(await readOpenWeeks(tx)), [id])
  if (rows.length === 0) return null
  return applyTransitions(
    tx,
    rows.map(({ messageId, n }): Transition => ({
      messageId,
      n,
      move: 'drop',
      lease: null,
      reason: 'the campaign was cancelled',
      dueAt: null,
      isCounted: false,
      attempt: null,
      eventData: null,
    })),
    now,
  )
}
