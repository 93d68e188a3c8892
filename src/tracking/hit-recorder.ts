/**
 * Turns stored opens and clicks into events some seconds after they arrived. One transaction classifies them
 * (hit-classifier.ts), writes the events with their webhook deliveries, updates the campaign ledger, and deletes the
 * hits from their queue. Two workers skip each other's hits; the recipients are locked while their events are read. A
 * crash before the commit leaves the hits in the queue. Hits of a message that is no longer stored are deleted.
 */
import { columnsOf, jsonOrNull } from '#src/stores/column-arrays.ts'
import { workFound, type WorkFound } from '#src/concurrency/work-found.ts'
import type { Context } from '#src/context.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { newDeliveries } from '#src/events/deliveries.ts'
import { MAX_EVENT_LAG_MS } from '#src/events/reported-event.ts'
import { publishNotifications, NO_NOTIFICATIONS, type CommitNotifications } from '#src/queue/notifications.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { expectOneRow, weekly, type WeeklyStatement } from '#src/stores/weeks.ts'
import {
  classifyHits,
  CLASSIFY_AFTER_MS,
  type DeliveryFacts,
  type Hit,
  type EarlierHit,
  type ClassifiedHit,
} from './hit-classifier.ts'
import { updateHitLedger } from './hit-ledger.ts'
import { maskAddress } from './privacy.ts'
import type { Privacy } from './settings.ts'

/** Hits in one transaction. */
const BATCH_SIZE = 1000

interface HitRow {
  readonly message_id: string
  readonly n: number
  readonly at: Date
  readonly url: string | null
  readonly address: string
  readonly user_agent: string
  readonly machine: string | null
}

const HIT_COLUMNS = 'h.message_id, h.n, h.at, h.url, h.address, h.user_agent, h.machine'
const CLAIM_DUE = prepared(
  'tracking-claim-due',
  sql`
    DELETE FROM tracking_hits h
    USING (
      SELECT id
      FROM tracking_hits
      WHERE at <= $1
      ORDER BY at
      LIMIT $2
      FOR UPDATE SKIP LOCKED
    ) due
    WHERE h.id = due.id
    RETURNING ${HIT_COLUMNS}
  `,
)

interface RecipientRow {
  readonly message_id: string
  readonly n: number
  readonly is_open: boolean
  readonly campaign_id: string | null
  readonly privacy: Privacy
}

const BY_RECIPIENT = 'unnest($1::uuid[], $2::smallint[]) AS i (message_id, n)'
const RECIPIENTS = weekly(
  'tracking-recipients',
  (weeks) => sql`
    SELECT r.message_id, r.n, r.is_open, r.campaign_id, w.tracking_privacy AS privacy
    FROM ${BY_RECIPIENT}
    JOIN recipients r ON r.message_id = i.message_id AND r.n = i.n
    JOIN workspaces w ON w.id = r.workspace_id
    WHERE ${expectOneRow('i.n')} AND ${weeks.contain('r.message_id')}
    ORDER BY r.message_id, r.n
    FOR NO KEY UPDATE OF r
  `,
)
const LATER = weekly(
  'tracking-later',
  () => sql`
    SELECT ${HIT_COLUMNS}
    FROM ${BY_RECIPIENT}
    JOIN tracking_hits h ON h.message_id = i.message_id AND h.n = i.n
    WHERE h.url IS NOT NULL
  `,
)

interface PastRow {
  readonly message_id: string
  readonly n: number
  readonly type: string
  readonly at: Date
  readonly url: string | null
  readonly machine: boolean | null
  readonly rule: string | null
}

const PAST = weekly(
  'tracking-past',
  (weeks) => sql`
    SELECT e.message_id, e.n, e.type, e.created_at AS at, e.data ->> 'url' AS url,
      (e.data ->> 'machine')::boolean AS machine, e.data ->> 'machine_rule' AS rule
    FROM ${BY_RECIPIENT}
    JOIN events e ON e.message_id = i.message_id AND e.n = i.n
    WHERE ${expectOneRow('i.n')}
      AND e.type = ANY ('{email.sent,email.opened,email.clicked}')
      AND ${weeks.precede('e.id')}
  `,
)

/** Records the hits that are due. @throws if PostgreSQL is unavailable. */
export async function recordHits(
  ctx: Pick<Context, 'db' | 'redis' | 'clock'>,
  classifyAfterMs = CLASSIFY_AFTER_MS,
): Promise<WorkFound> {
  const due = new Date(ctx.clock.now() - classifyAfterMs)
  const { notifications, count } = await ctx.db.transaction(async (tx) => {
    const { rows } = await tx.query<HitRow>(CLAIM_DUE, [due, BATCH_SIZE])
    const recorded = rows.length === 0 ? NO_NOTIFICATIONS : await recordBatch(tx, rows, ctx.clock.now())
    return { notifications: recorded, count: rows.length }
  })
  publishNotifications(ctx, notifications)
  return workFound(count, BATCH_SIZE)
}

interface RecordedHit extends ClassifiedHit {
  readonly row: RecipientRow
}

async function recordBatch(tx: Queryable, hits: readonly HitRow[], nowMs: number): Promise<CommitNotifications> {
  const byRecipient = Map.groupBy(hits, keyOf)
  const recipients = await load<RecipientRow>(tx, RECIPIENTS, hits)
  const later = Map.groupBy(await load<HitRow>(tx, LATER, recipients), keyOf)
  const past = Map.groupBy(await load<PastRow>(tx, PAST, recipients), keyOf)
  const recorded = recipients.flatMap((row): RecordedHit[] => {
    const key = keyOf(row)
    const own = (byRecipient.get(key) ?? []).map(hitOf).toSorted((one, other) => one.atMs - other.atMs)
    const before = past.get(key) ?? []
    return classifyHits(own, (later.get(key) ?? []).map(hitOf), before.flatMap(pastOf), deliveryOf(row, before)).map(
      (one) => ({ ...one, row }),
    )
  })
  if (recorded.length === 0) return NO_NOTIFICATIONS
  const news = await raiseHitEvents(tx, recorded, nowMs)
  await updateHitLedger(
    tx,
    recorded.filter(({ row }) => row.campaign_id !== null),
  )
  return news
}

function keyOf({ message_id: messageId, n }: { readonly message_id: string; readonly n: number }): string {
  return `${messageId} ${n}`
}

/** Runs a statement for the distinct recipients of these rows. */
async function load<R extends object>(
  tx: Queryable,
  statement: WeeklyStatement,
  refs: readonly Pick<HitRow, 'message_id' | 'n'>[],
): Promise<R[]> {
  const each = [...new Map(refs.map((one) => [keyOf(one), one])).values()]
  if (each.length === 0) return []
  return (
    await tx.query<R>(
      statement.for(each.map((one) => one.message_id)),
      columnsOf(each, [(one) => one.message_id, (one) => one.n]),
    )
  ).rows
}

function hitOf({ at, url, address, user_agent: userAgent, machine }: HitRow): Hit {
  return { atMs: at.getTime(), url, address, userAgent, machine }
}

/** Rules by time and speed, which apply here and not to a single request. */
const TIMING_RULES: ReadonlySet<string> = new Set(['before-delivery', 'too-soon', 'all-links'])

function pastOf({ type, at, url, machine, rule }: PastRow): EarlierHit[] {
  if (type === 'email.sent') return []
  return [
    {
      atMs: at.getTime(),
      url,
      isMachine: machine === true,
      isMachineByRequest: rule !== null && !TIMING_RULES.has(rule),
    },
  ]
}

function deliveryOf({ is_open: isOpen }: RecipientRow, past: readonly PastRow[]): DeliveryFacts {
  const sent = past.filter(({ type }) => type === 'email.sent').map(({ at }) => at.getTime())
  return { sentAtMs: sent.length === 0 ? null : Math.min(...sent), isOpen }
}

const RAISE = weekly(
  'tracking-raise',
  (weeks) => sql`
    WITH input AS (
      SELECT *
      FROM unnest(
        $1::uuid[], $2::uuid[], $3::smallint[], $4::text[], $5::text[], $6::timestamptz[]
      ) WITH ORDINALITY AS i (id, message_id, n, type, data, at, ord)
      WHERE ${expectOneRow('ord')}
    ),
    alone AS (
      UPDATE recipients r
      SET sequence = r.sequence + s.events
      FROM (SELECT message_id, n, count(*) AS events FROM input GROUP BY message_id, n) s
      WHERE r.message_id = s.message_id AND r.n = s.n AND r.is_only AND ${weeks.contain('r.message_id')}
      RETURNING r.message_id, r.n, r.sequence - s.events AS base
    ),
    shared AS (
      UPDATE messages m
      SET event_count = m.event_count + s.events
      FROM (
        SELECT i.message_id, count(*) AS events
        FROM input i
        WHERE NOT EXISTS (SELECT FROM alone a WHERE a.message_id = i.message_id AND a.n = i.n)
        GROUP BY i.message_id
      ) s
      WHERE m.id = s.message_id AND ${weeks.contain('m.id')}
      RETURNING m.id, m.event_count - s.events AS base
    ),
    new_events AS (
      INSERT INTO events (id, workspace_id, type, message_id, n, sequence, recipient, data, created_at)
      SELECT i.id, r.workspace_id, i.type, i.message_id, i.n,
        coalesce(a.base, s.base) + row_number() OVER (PARTITION BY i.message_id ORDER BY i.ord), r.address,
        i.data::jsonb, i.at
      FROM input i
      JOIN recipients r ON r.message_id = i.message_id AND r.n = i.n AND ${weeks.contain('r.message_id')}
      LEFT JOIN alone a ON a.message_id = i.message_id AND a.n = i.n
      LEFT JOIN shared s ON s.id = i.message_id
      RETURNING id, workspace_id, type
    ),
    ${newDeliveries('now()')}
    SELECT (SELECT count(*) FROM new_deliveries) AS deliveries,
      ARRAY(SELECT DISTINCT workspace_id::text FROM new_events) AS workspaces
  `,
)

/** The id of an event that is recorded late does not have the time of the hit: the feed finds it (MAX_EVENT_LAG_MS). */
async function raiseHitEvents(
  tx: Queryable,
  recorded: readonly RecordedHit[],
  nowMs: number,
): Promise<CommitNotifications> {
  const inOrder = recorded.toSorted((one, other) => one.atMs - other.atMs)
  const columns = columnsOf(inOrder, [
    (t) => newId(Math.max(t.atMs, nowMs - MAX_EVENT_LAG_MS / 2)),
    (t) => t.row.message_id,
    (t) => t.row.n,
    (t) => (t.url === null ? 'email.opened' : 'email.clicked'),
    (t) => jsonOrNull(dataOf(t)),
    (t) => new Date(t.atMs),
  ])
  const {
    rows: [row],
  } = await tx.query<{ deliveries: number; workspaces: string[] }>(
    RAISE.for(recorded.map((one) => one.row.message_id)),
    columns,
  )
  return { hasDeliveries: (row?.deliveries ?? 0) > 0, workspaces: row?.workspaces ?? [] }
}

function dataOf({ url, address, userAgent, machine, isFirst, row }: RecordedHit): object {
  return {
    ...(url === null ? {} : { url }),
    machine: machine !== null,
    ...(machine === null ? {} : { machine_rule: machine }),
    first: isFirst,
    ip: maskAddress(address, row.privacy),
    user_agent: row.privacy === 'none' ? null : userAgent,
  }
}
