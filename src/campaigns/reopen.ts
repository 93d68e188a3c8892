/**
 * Slices of a ledger that is gone through as a whole, in the order of contact ids, under the campaign's lock: rows that failed are opened
 * again for a retry, and rows of a cancelled campaign are closed.
 */
import type { Queryable } from '#src/stores/db.ts'
import { moveRecipients, type Moving } from '#src/messages/transition.ts'
import type { Moved } from '#src/messages/transition.ts'
import { sql } from '#src/stores/sql.ts'
import type { Running } from './running.ts'

const SLICE = 10_000
const NOBODY = '00000000-0000-0000-0000-000000000000'
/** What a retry is for: what was refused for good, suppressed or left out stays so. */
const MAY_RETRY = `(l.state = 'failed' OR (l.state = 'bounced' AND l.bounce_type = 'soft'))`

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
    WHERE l.campaign_id = s.campaign_id AND l.contact_id = s.contact_id AND NOT l.is_waiting AND ${MAY_RETRY}
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

/** Opens what failed in the next slice. */
export async function reopenFailed(tx: Queryable, { id, retriedId, generation }: Running, now: Date): Promise<void> {
  await tx.query(REOPEN, [id, retriedId ?? NOBODY, now, generation])
}

/** By either of the indexes that waiting rows stand in. */
const closeText = (which: string): string => sql`
  UPDATE campaign_recipients
  SET state = 'cancelled', is_waiting = false, apart = NULL, reason = 'the campaign was cancelled'
  WHERE campaign_id = $1
    AND contact_id IN (
      SELECT contact_id
      FROM campaign_recipients
      WHERE campaign_id = $1 AND is_waiting AND ${which}
      LIMIT ${SLICE}
    )
`
const CLOSES = [
  closeText('apart IS NULL ORDER BY sends_at, contact_id'),
  closeText('apart IS NOT NULL ORDER BY apart, sends_at, contact_id'),
]

/** Closes rows that were not dispatched; answers how many. */
export async function closeWaiting(tx: Queryable, { id }: Running): Promise<number> {
  for (const close of CLOSES) {
    const { rowCount } = await tx.query(close, [id])
    if (rowCount !== null && rowCount > 0) return rowCount
  }
  return 0
}

/** By the index of what is open: what was settled costs nothing, however large the campaign. */
const IN_QUEUE = sql`
  SELECT message_id AS "messageId", n
  FROM recipients
  WHERE campaign_id = $1 AND is_open AND state IN ('scheduled', 'queued', 'deferred')
  LIMIT ${SLICE / 10}
`

/** Takes back what waits in the queue; null when nothing does. What is being sent at this moment is not touched. */
export async function takeBack(tx: Queryable, { id }: Running, now: Date): Promise<Moved | null> {
  const { rows } = await tx.query<{ messageId: string; n: number }>(IN_QUEUE, [id])
  if (rows.length === 0) return null
  return moveRecipients(
    tx,
    rows.map(({ messageId, n }): Moving => ({
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
