/** Mail with events for the tests of statistics, and the recount that they compare with. */
import { isDeepStrictEqual } from 'node:util'
import { newId } from '#src/platform/id.ts'
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/stores/db.ts'
import { ensurePartitions } from '#src/stores/partitions.ts'
import { sql } from '#src/stores/sql.ts'
import { until } from '#test/support/until.ts'
import { countEvents } from './count-events.ts'
import { COUNTER_NAMES, INSTALLATION } from './dimensions.ts'

export interface MailFacts {
  readonly workspaceId: string
  readonly at: Date
  readonly tier?: string
  readonly from?: string
  readonly tags?: readonly string[]
  readonly campaignId?: string | null
  readonly template?: string | null
  readonly host?: string | null
  readonly source?: string | null
  readonly tls?: string | null
  readonly recipient?: string
}

/** An event, with its data. */
export type EventFacts = readonly [type: string, data?: Readonly<Record<string, unknown>>]

/** Stores a message that was sent at once, with these events. Returns its id. */
export async function storeMail(db: Queryable, mail: MailFacts, events: readonly EventFacts[]): Promise<string> {
  const { workspaceId, at, tier = 'normal', from = 'a@sender.example', recipient = 'b@receiver.example' } = mail
  await ensurePartitions((statement) => db.query(statement), at.getTime())
  const id = newId(at.getTime())
  await db.query(
    sql`
      INSERT INTO messages (id, workspace_id, tier, from_email, to_list, subject, content_size, recipient_count, tags,
        campaign_id, template, created_at)
      VALUES ($1, $2, $3, $4, '[]', 'Hi', 9, 1, $5, $6, $7, $8)`,
    [
      id,
      workspaceId,
      tier,
      from,
      mail.tags ?? null,
      mail.campaignId ?? null,
      mail.template == null ? null : JSON.stringify({ id: mail.template, version: 1 }),
      at,
    ],
  )
  if (mail.host !== undefined)
    await db.query(
      sql`
        INSERT INTO attempts (message_id, n, attempt, at, outcome, host, source, tls, duration_ms, conversation)
        VALUES ($1, 0, 1, $2, 'delivered', $3, $4, $5, 1, '')`,
      [id, at, mail.host, mail.source ?? null, mail.tls ?? null],
    )
  await storeEvents(db, { id, workspaceId, at, recipient }, events)
  return id
}

interface EventTarget {
  readonly id: string
  readonly workspaceId: string
  readonly at: Date
  readonly recipient?: string
}

export async function storeEvents(
  db: Queryable,
  { id, workspaceId, at, recipient = 'b@receiver.example' }: EventTarget,
  events: readonly EventFacts[],
): Promise<void> {
  for (const [i, [type, data]] of events.entries())
    await db.query(
      sql`
        INSERT INTO events (id, workspace_id, type, message_id, n, sequence, recipient, data, created_at)
        VALUES ($1, $2, $3, $4, 0, $5, $6, $7, $8)`,
      [
        newId(at.getTime()),
        workspaceId,
        type,
        id,
        i + 1,
        recipient,
        data === undefined ? null : JSON.stringify(data),
        at,
      ],
    )
}

/** The counters of all stored events, counted anew: what the statistics must be. */
export const RECOUNT = sql`
  SELECT count(*) FILTER (WHERE type IN ('email.queued', 'email.scheduled'))::int AS accepted,
    count(*) FILTER (WHERE type = 'email.sent')::int AS sent,
    count(*) FILTER (WHERE type = 'email.delivered')::int AS delivered,
    count(*) FILTER (WHERE type = 'email.deferred')::int AS deferred,
    count(*) FILTER (WHERE type = 'email.bounced' AND data ->> 'bounce_type' = 'hard')::int AS bounced_hard,
    count(*) FILTER (WHERE type = 'email.bounced' AND data ->> 'bounce_type' = 'soft')::int AS bounced_soft,
    count(*) FILTER (WHERE type = 'email.failed' AND data ->> 'reason' IS DISTINCT FROM 'suppressed')::int AS failed,
    count(*) FILTER (WHERE type = 'email.failed' AND data ->> 'reason' = 'suppressed')::int AS suppressed,
    count(*) FILTER (WHERE type = 'email.cancelled')::int AS cancelled,
    count(*) FILTER (WHERE type = 'email.complained')::int AS complained,
    count(*) FILTER (WHERE type = 'email.unsubscribed')::int AS unsubscribed,
    count(*) FILTER (WHERE type = 'email.opened' AND data ->> 'machine' = 'false')::int AS opened,
    count(*) FILTER (WHERE type = 'email.opened' AND data ->> 'first' = 'true')::int AS opened_unique,
    count(*) FILTER (WHERE type = 'email.opened' AND data ->> 'machine' = 'true')::int AS opened_machine,
    count(*) FILTER (WHERE type = 'email.clicked' AND data ->> 'machine' = 'false')::int AS clicked,
    count(*) FILTER (WHERE type = 'email.clicked' AND data ->> 'first' = 'true')::int AS clicked_unique,
    count(*) FILTER (WHERE type = 'email.clicked' AND data ->> 'machine' = 'true')::int AS clicked_machine
  FROM events
  WHERE message_id IS NOT NULL AND data ->> 'test' IS NULL`

/** The rows that have each event once: days as far as they are rolled up, and minutes. */
export const EACH_ONCE = sql`
  (resolution = 2 OR resolution = 0 AND at >= (SELECT rolled_until FROM statistics_cursors WHERE name = 'new'))`

/** The counters of one dimension, added up over all periods and values. */
export function sumsOf(counters: readonly string[]): string {
  return sql`
    SELECT ${counters.map((name) => `coalesce(sum(${name}), 0)::int AS ${name}`).join(', ')}
    FROM statistics
    WHERE workspace_id = $1 AND dimension = $2 AND ${EACH_ONCE}`
}

/** Waits until the statistics of the whole installation are those of a recount. */
export async function waitForStatistics(db: Queryable): Promise<void> {
  let [counted, recounted]: unknown[] = []
  await until(
    async () => {
      counted = (await db.query(sumsOf(COUNTER_NAMES), [INSTALLATION, 'all'])).rows[0]
      recounted = (await db.query(RECOUNT)).rows[0]
      return isDeepStrictEqual(counted, recounted)
    },
    () => `counted ${JSON.stringify(counted)}, recounted ${JSON.stringify(recounted)}`,
  )
}

/** Waits until no transaction is open that is older than a stored event; those of other databases count, too. */
export async function waitForOlderTransactions(db: Queryable): Promise<void> {
  await until(async () => {
    const { rows } = await db.query(sql`
      SELECT
      FROM events
      WHERE tx >= pg_snapshot_xmin(pg_current_snapshot())
      LIMIT 1`)
    return rows.length === 0
  })
}

/** Counts until no event is left. */
export async function countAllEvents(ctx: Pick<Context, 'db'>, slice?: number): Promise<void> {
  await waitForOlderTransactions(ctx.db)
  while (await countEvents(ctx, slice));
}
