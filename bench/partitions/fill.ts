/**
 * Fills a database with old mail: weekly partitions, of which the older ones are empty, and delivered messages with one
 * recipient, one attempt and two events each, in slices. It is bounded by the number of messages and stops at a signal.
 */
import type { Client } from 'pg'
import { idAt } from '#src/platform/id.ts'
import { WEEK_MS } from '#src/stores/partition-names.ts'
import { ensurePartitions } from '#src/stores/partitions.ts'
import { sql } from '#src/stores/sql.ts'

const SLICE = 20_000
/** `ensurePartitions` creates those of five weeks. */
const WEEKS_AT_ONCE = 5
/** Of all weeks, so many have mail. */
const FILLED_WEEKS = 30

export interface FillOptions {
  /** Weekly partitions of each table, with those that every installation has. */
  readonly weeks: number
  readonly messages: number
  readonly workspaceId: string
}

/** Ids as `idAt` and a random rest; the time of each is spread over its week. */
const FILL = sql`
  WITH mail AS MATERIALIZED (
    SELECT i, (lpad(to_hex($1::bigint + (i::bigint * $4::bigint) / $3::int), 12, '0') || '7'
      || substr(md5(i::text || $1::text), 1, 19))::uuid AS id,
      'r' || i % 50000 || '@d' || i % 200 || '.example' AS address, 'd' || i % 200 || '.example' AS domain,
      to_timestamp(($1::bigint + (i::bigint * $4::bigint) / $3::int) / 1000.0) AS at
    FROM generate_series(1, $3::int) i
  ), new_messages AS (
    INSERT INTO messages (
      id, workspace_id, tier, from_email, to_list, subject, html, content_size, recipient_count, created_at
    )
    SELECT id, $2, 'normal', 'shop@sender.example',
      jsonb_build_array(jsonb_build_object('email', address, 'name', NULL)), 'Order ' || i, repeat('x', 500), 500, 1, at
    FROM mail
  ), new_recipients AS (
    INSERT INTO recipients (
      message_id, n, workspace_id, tier, kind, address, domain, state, is_open, due_at, attempts, tries, is_only,
      sequence, updated_at
    )
    SELECT id, 0, $2, 'normal', 'to', address, domain, 'delivered', false, at, 1, 1, true, 3, at
    FROM mail
  ), new_attempts AS (
    INSERT INTO attempts (message_id, n, attempt, at, outcome, duration_ms, conversation)
    SELECT id, 0, 1, at, 'delivered', 20, 'S: 220 hi'
    FROM mail
  )
  INSERT INTO events (id, workspace_id, type, message_id, n, sequence, recipient, created_at)
  SELECT (substr(id::text, 1, 19) || substr(md5(id::text || k), 1, 16))::uuid, $2, 'email.' || type, id, 0, k, address,
    at
  FROM mail
  CROSS JOIN (VALUES (1, 'queued'), (2, 'delivered')) AS e (k, type)
`

/** Creates the partitions and fills the newest of the old ones. Returns the number of messages. */
export async function fillHistory(
  client: Client,
  { weeks, messages, workspaceId }: FillOptions,
  say: (line: string) => void,
): Promise<number> {
  const now = Date.now()
  await ensurePartitions((statement) => client.query(statement), now)
  for (let back = WEEKS_AT_ONCE; back < weeks; back += WEEKS_AT_ONCE)
    await ensurePartitions((statement) => client.query(statement), now - back * WEEK_MS)
  const old = Math.min(FILLED_WEEKS, weeks - WEEKS_AT_ONCE)
  const perWeek = Math.ceil(messages / old)
  let filled = 0
  for (let week = 2; week < old + 2; week++) {
    for (let done = 0; done < perWeek; done += SLICE) {
      const count = Math.min(SLICE, perWeek - done)
      const fromMs = now - week * WEEK_MS + done
      await client.query(FILL, [fromMs, workspaceId, count, WEEK_MS / 2])
      filled += count
    }
    if (week % 5 === 1) say(`  ${filled} messages, back to ${idAt(now - week * WEEK_MS)}`)
  }
  await client.query('VACUUM ANALYZE')
  return filled
}
