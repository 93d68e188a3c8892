/**
 * Writes the results of attempts: the state of the delivery and a log row for each attempt. One statement for a whole
 * batch. An attempt whose lease has expired no longer changes the state, except that a 2xx always makes the delivery
 * delivered. The attempt is logged in any case, once, so the statement may be repeated if its result was lost. A
 * process that dies between the response and this commit leaves the row leased; it is sent again with the same
 * webhook-id (at least once).
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { columnsOf } from '#src/stores/column-arrays.ts'
import { isDatabaseAway, isTransactionConflict, prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import type { WebhookAttempt } from './attempt.ts'
import type { ClaimedWebhook } from './claim.ts'

const RECORD_ATTEMPTS = prepared(
  'webhooks-settle',
  sql`
    WITH input AS MATERIALIZED (
      SELECT *
      FROM unnest(
        $1::uuid[], $2::uuid[], $3::timestamptz[], $4::text[], $5::float8[], $6::timestamptz[], $7::text[], $8::text[],
        $9::text[], $10::smallint[], $11::text[], $12::text[], $13::integer[]
      ) AS i (
        event_id, endpoint_id, lease, state, next_in_ms, at, url, headers, body, status, response, error, duration_ms
      )
    ),
    settled AS (
      UPDATE webhook_deliveries d
      SET state = i.state,
        tries = d.tries + 1,
        leased_until = NULL,
        due_at = coalesce(now() + make_interval(secs => i.next_in_ms / 1000), d.due_at)
      FROM input i
      WHERE d.event_id = i.event_id
        AND d.endpoint_id = i.endpoint_id
        AND d.event_id = ANY ($1)
        AND d.state = 'pending'
        AND (d.leased_until = i.lease OR i.state = 'delivered')
    ),
    closed AS (
      UPDATE webhook_endpoints
      SET is_active = false, disabled_reason = 'it answered 410 Gone', updated_at = now()
      WHERE id = ANY ($14) AND is_active
    )
    INSERT INTO webhook_attempts (
      event_id, endpoint_id, attempt, at, url, request_headers, request_body, status, response_body, error, duration_ms
    )
    SELECT i.event_id, i.endpoint_id, coalesce(earlier.last, 0) + 1, i.at, i.url, i.headers::jsonb, i.body, i.status,
      i.response, i.error, i.duration_ms
    FROM input i
    CROSS JOIN LATERAL (
      SELECT max(a.attempt) AS last, coalesce(bool_or(a.at = i.at), false) AS is_known
      FROM webhook_attempts a
      WHERE a.event_id = i.event_id AND a.endpoint_id = i.endpoint_id
    ) earlier
    WHERE NOT earlier.is_known
    ON CONFLICT DO NOTHING
  `,
)

/** Safe to repeat. */
export async function recordAttempts(db: Queryable, attempts: readonly WebhookAttempt[]): Promise<void> {
  const columns = columnsOf(attempts, [
    (t) => t.delivery.eventId,
    (t) => t.delivery.endpointId,
    (t) => t.delivery.leasedUntil,
    (t) => t.verdict.state,
    (t) => t.verdict.nextInMs,
    (t) => t.record.at,
    (t) => t.record.url,
    (t) => JSON.stringify(t.record.headers),
    (t) => t.record.body,
    (t) => t.record.status,
    (t) => t.record.response,
    (t) => t.verdict.error,
    (t) => t.record.durationMs,
  ])
  await db.query(RECORD_ATTEMPTS, [
    ...columns,
    [...new Set(attempts.filter((t) => t.verdict.isGone).map((t) => t.delivery.endpointId))],
  ])
}

const RETRY_MS = 500

/** Repeats `recordAttempts` while PostgreSQL is unavailable, for `forMs` at most: as long as the leases last. */
export async function recordWithRetry(
  db: Queryable,
  attempts: readonly WebhookAttempt[],
  forMs: number,
): Promise<void> {
  const until = performance.now() + forMs
  for (;;) {
    try {
      return await recordAttempts(db, attempts)
    } catch (error) {
      const mayRepeat = isDatabaseAway(error) || isTransactionConflict(error)
      if (!mayRepeat || performance.now() > until) throw error
      await sleep(RETRY_MS)
    }
  }
}

const RELEASE = prepared(
  'webhooks-release',
  sql`
    UPDATE webhook_deliveries d
    SET leased_until = NULL
    FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[]) AS i (event_id, endpoint_id, lease)
    WHERE d.event_id = i.event_id
      AND d.endpoint_id = i.endpoint_id
      AND d.event_id = ANY ($1)
      AND d.state = 'pending'
      AND d.leased_until = i.lease
  `,
)

/** Releases rows that were not attempted: due as before, not counted. */
export async function releaseDeliveries(db: Queryable, deliveries: readonly ClaimedWebhook[]): Promise<void> {
  if (deliveries.length > 0)
    await db.query(RELEASE, columnsOf(deliveries, [(d) => d.eventId, (d) => d.endpointId, (d) => d.leasedUntil]))
}

const ABANDONED_BATCH = 1000

// the last row of a log gives the reason of the end, so an abandoned delivery gets a row although nothing was sent
const END_ABANDONED = prepared(
  'webhooks-end-abandoned',
  sql`
    WITH picked AS MATERIALIZED (
      SELECT d.event_id, d.endpoint_id, e.url, e.disabled_reason
      FROM webhook_endpoints e
      CROSS JOIN LATERAL (
        SELECT event_id, endpoint_id
        FROM webhook_deliveries
        WHERE endpoint_id = e.id AND state = 'pending' AND (leased_until IS NULL OR leased_until <= now())
        LIMIT $1
        FOR UPDATE SKIP LOCKED
      ) d
      WHERE NOT e.is_active
      LIMIT $1
    ),
    ended AS (
      UPDATE webhook_deliveries d
      SET state = 'failed', leased_until = NULL
      FROM picked p
      WHERE d.event_id = p.event_id
        AND d.endpoint_id = p.endpoint_id
        AND d.event_id = ANY (ARRAY(SELECT event_id FROM picked))
      RETURNING d.event_id, d.endpoint_id
    )
    INSERT INTO webhook_attempts (
      event_id, endpoint_id, attempt, at, url, request_headers, request_body, error, duration_ms
    )
    SELECT p.event_id, p.endpoint_id,
      1
        + coalesce(
          (
            SELECT max(a.attempt)
            FROM webhook_attempts a
            WHERE a.event_id = p.event_id AND a.endpoint_id = p.endpoint_id
          ),
          0
        ),
      date_trunc('milliseconds', now()), p.url, '{}', '',
      'not sent: the endpoint is switched off (' || coalesce(p.disabled_reason, 'no reason given') || ')', 0
    FROM picked p
    JOIN ended USING (event_id, endpoint_id)
  `,
)

/** Fails the pending deliveries of disabled endpoints. Returns how many; call again while there may be more. */
export async function endAbandoned(db: Queryable): Promise<{ readonly ended: number; readonly mayHaveMore: boolean }> {
  const { rowCount } = await db.query(END_ABANDONED, [ABANDONED_BATCH])
  return { ended: rowCount ?? 0, mayHaveMore: rowCount === ABANDONED_BATCH }
}
