/**
 * Reads the events after a cursor in the order in which they became visible (`src/events/feed.ts`): first where a slice
 * ends and from which weeks its messages are, then its recipients in groups of those that differ in nothing that is
 * counted. Only transactions older than every running one are read, so no event can appear before the cursor later.
 * What an event counts for is read beside it: its message, and the last attempt that began before it.
 */
import { MAX_EVENT_LAG_MS } from '#src/events/reported-event.ts'
import { idAt, timeOf } from '#src/platform/id.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { weekly, type Weeks, weeksOf, weeksSince } from '#src/stores/weeks.ts'
import { CODE, type EventKind, IS_AFTER_ATTEMPT, IS_COUNTED, kindsOf } from './event-kind.ts'
import type { ClickGroup, EventGroup } from './tally.ts'

export interface EventCursor {
  readonly name: string
  readonly tx: string
  readonly id: string
  /** Events after the cursor were written from this time on. */
  readonly sinceMs: number
  /** It ends before this transaction. */
  readonly beforeTx: string | null
}

export interface EventSlice {
  readonly events: number
  /** The position of its last event. */
  readonly tx: string
  readonly id: string
  /** Ids that span the weeks of its messages. */
  readonly messageIds: readonly string[]
  /** Its messages with clicks. */
  readonly clickedIds: readonly string[]
}

const FIND_SLICE = weekly(
  'statistics-slice',
  (weeks) => sql`
    WITH slice AS MATERIALIZED (
      SELECT e.tx, e.id, e.message_id, e.type
      FROM events e
      WHERE (e.tx, e.id) > ($1::xid8, $2::uuid)
        AND e.id >= $3::uuid
        AND ${weeks.contain('e.id')}
        AND e.tx < pg_snapshot_xmin(pg_current_snapshot())
        AND e.tx < coalesce($4::xid8, '18446744073709551615')
      ORDER BY e.tx, e.id
      LIMIT $5
    )
    SELECT tx, id, (SELECT count(*)::int FROM slice) AS events,
      ARRAY(SELECT DISTINCT left(message_id::text, 7) FROM slice WHERE message_id IS NOT NULL) AS blocks,
      ARRAY(SELECT DISTINCT message_id::text FROM slice WHERE type = 'email.clicked' AND message_id IS NOT NULL)
        AS "clickedIds"
    FROM slice
    ORDER BY tx DESC, id DESC
    LIMIT 1
  `,
)

interface SliceRow extends Omit<EventSlice, 'messageIds'> {
  readonly blocks: readonly string[]
}

/** The next `limit` events after the cursor; null if there are none. */
export async function findSlice(tx: Queryable, cursor: EventCursor, limit: number): Promise<EventSlice | null> {
  const { rows } = await tx.query<SliceRow>(FIND_SLICE.within(weeksSince(firstMsOf(cursor))), [
    cursor.tx,
    cursor.id,
    idAt(firstMsOf(cursor)),
    cursor.beforeTx,
    limit,
  ])
  const [row] = rows
  if (row === undefined) return null
  const { blocks, ...slice } = row
  // seven hex digits of an id are blocks of 17 minutes; both ends, since a week may begin within a block
  return { ...slice, messageIds: blocks.flatMap((block) => [endOfBlock(block, '0'), endOfBlock(block, 'f')]) }
}

function firstMsOf({ sinceMs }: EventCursor): number {
  return Math.max(0, Math.floor(sinceMs - MAX_EVENT_LAG_MS))
}

function endOfBlock(block: string, digit: string): string {
  return `${block}${digit}-${digit.repeat(4)}-${digit.repeat(4)}-${digit.repeat(4)}-${digit.repeat(12)}`
}

/** The weeks that a statement reads. */
interface SliceWeeks {
  readonly ofEvents: Weeks
  readonly ofMessages: Weeks
}

/** The events of the slice; $1 to $5 are its bounds. */
const inSlice = ({ ofEvents }: SliceWeeks): string => sql`
  (e.tx, e.id) > ($1::xid8, $2::uuid)
    AND (e.tx, e.id) <= ($3::xid8, $4::uuid)
    AND e.id >= $5::uuid
    AND ${ofEvents.contain('e.id')}`

const CLASS = sql`
  CASE e.type
    WHEN 'email.bounced' THEN left(e.data ->> 'bounce_class', 100)
    WHEN 'email.deferred' THEN left(e.data ->> 'reason', 100)
  END`
const REPLY = sql`
  CASE e.type
    WHEN 'email.bounced' THEN left(e.data ->> 'bounce_message', 1000)
    WHEN 'email.deferred' THEN left(e.data ->> 'message', 1000)
  END`

/**
 * Recipients with events in the slice: all of them, each once, or each event of the recipients $6 and $7.
 * `first_at` and `last_at` are the times of events that an attempt belongs to.
 */
const recipientsIn = (weeks: SliceWeeks, isByEvent: boolean): string => sql`
  SELECT e.workspace_id, e.message_id, e.n, array_agg(${CODE}) AS codes, max(e.recipient COLLATE "C") AS recipient,
    min(e.created_at) FILTER (WHERE ${IS_AFTER_ATTEMPT}) AS first_at,
    max(e.created_at) FILTER (WHERE ${IS_AFTER_ATTEMPT}) AS last_at,
    max(${CLASS} COLLATE "C") AS class, count(${CLASS}) AS classes, max(${REPLY} COLLATE "C") AS reply
  FROM ${isByEvent ? mixedIn(weeks) : 'events e'}
  WHERE ${inSlice(weeks)}
    AND ${IS_COUNTED}
    AND e.message_id IS NOT NULL
    AND e.data ->> 'test' IS NULL
  GROUP BY e.workspace_id, e.message_id, e.n${isByEvent ? ', e.id' : ''}`

/** The events of messages are found by their index, not by the slice, which would be read once for each message. */
const mixedIn = ({ ofEvents }: SliceWeeks): string => sql`
  unnest($6::uuid[], $7::smallint[]) AS mixed (message_id, n)
  CROSS JOIN LATERAL (
    SELECT *
    FROM events e
    WHERE e.message_id = mixed.message_id AND e.n IS NOT DISTINCT FROM mixed.n AND ${ofEvents.contain('e.id')}
    OFFSET 0
  ) e`

/**
 * Recipients in groups of those that differ in nothing that is counted. The message and the attempt are looked up once
 * for all events of a recipient in the slice, which nearly always belong to its last attempt. If that began between two
 * of them, or if two of them have a class, the recipient is mixed: it is read again, event by event. Whether its
 * workspace exists is asked for each group.
 */
const READ_GROUPS = (weeks: SliceWeeks, isByEvent = false): string => sql`
  SELECT "workspaceId", codes::text AS codes, class, tier, domain, tags, campaign, template, "isAttempted", host,
    source, "isEncrypted", "recipientDomain", "mixedId", "mixedN", reply, count
  FROM (
    SELECT r.workspace_id AS "workspaceId", r.codes, r.class, m.tier,
      lower(substring(m.from_email FROM '[^@]*$')) AS domain, m.tags, m.campaign_id::text AS campaign,
      coalesce(m.template ->> 'id', c.template_id::text) AS template,
      a.attempt IS NOT NULL AS "isAttempted", a.host, a.source, a.tls IS NOT NULL AS "isEncrypted",
      CASE WHEN a.attempt IS NOT NULL AND a.host IS NULL THEN lower(substring(r.recipient FROM '[^@]*$')) ELSE '' END
        AS "recipientDomain",
      CASE WHEN a.at > r.first_at OR r.classes > 1 THEN r.message_id END AS "mixedId",
      CASE WHEN a.at > r.first_at OR r.classes > 1 THEN r.n END AS "mixedN",
      max(r.reply) AS reply, count(*)::int AS count
    FROM (
      ${recipientsIn(weeks, isByEvent).replaceAll('\n', '\n      ')}
    ) r
    LEFT JOIN messages m ON m.id = r.message_id AND ${weeks.ofMessages.contain('m.id')}
    LEFT JOIN mail_contents c ON c.id = m.content_id
    LEFT JOIN LATERAL (
      SELECT attempt, at, host, source, tls
      FROM attempts
      WHERE message_id = r.message_id AND n = r.n AND at <= r.last_at AND ${weeks.ofMessages.contain('message_id')}
        AND r.last_at IS NOT NULL
      ORDER BY attempt DESC
      LIMIT 1
    ) a ON true
    GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
  ) found
  JOIN workspaces w ON w.id = found."workspaceId"`

/** Clicks on the messages $6 by link. */
const READ_CLICKS = (weeks: SliceWeeks): string => sql`
  SELECT e.workspace_id AS "workspaceId", to_char(e.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day,
    CASE
      WHEN m.campaign_id IS NOT NULL THEN 'campaign:' || m.campaign_id
      ELSE coalesce('template:' || coalesce(m.template ->> 'id', c.template_id::text), '')
    END AS content,
    e.data ->> 'url' AS url,
    coalesce(e.data ->> 'machine' = 'true', false) AS "isMachine",
    NOT EXISTS (
      SELECT FROM events b
      WHERE b.message_id = e.message_id
        AND b.sequence < e.sequence
        AND ${weeks.ofMessages.precede('b.id')}
        AND b.n = e.n
        AND b.type = e.type
        AND b.data ->> 'url' = e.data ->> 'url'
        AND coalesce(b.data ->> 'machine' <> 'true', true)
    ) AS "isFirst",
    count(*)::int AS count
  FROM unnest($6::uuid[]) AS clicked (message_id)
  CROSS JOIN LATERAL (
    SELECT *
    FROM events e
    WHERE e.message_id = clicked.message_id AND ${weeks.ofEvents.contain('e.id')}
    OFFSET 0
  ) e
  JOIN workspaces w ON w.id = e.workspace_id
  LEFT JOIN messages m ON m.id = e.message_id AND ${weeks.ofMessages.contain('m.id')}
  LEFT JOIN mail_contents c ON c.id = m.content_id
  WHERE ${inSlice(weeks)}
    AND e.type = 'email.clicked'
    AND e.data ->> 'url' IS NOT NULL
    AND e.data ->> 'test' IS NULL
  GROUP BY 1, 2, 3, 4, 5, 6`

interface GroupRow extends Omit<EventGroup, 'events'> {
  readonly codes: string
  readonly mixedId: string | null
  readonly mixedN: number | null
}

/** What the slice adds up to. */
export async function readSlice(
  tx: Queryable,
  cursor: EventCursor,
  slice: EventSlice,
): Promise<{ readonly groups: readonly EventGroup[]; readonly clicks: readonly ClickGroup[] }> {
  const weeks = { ofEvents: weeksSince(firstMsOf(cursor)), ofMessages: weeksOf(slice.messageIds) }
  const isKept = weeks.ofEvents.key !== null && weeks.ofMessages.key !== null
  const key = `${weeks.ofEvents.key} ${weeks.ofMessages.key}`
  const bounds = [cursor.tx, cursor.id, slice.tx, slice.id, idAt(firstMsOf(cursor))]
  const read = async <R extends object>(name: string, text: string, more: readonly unknown[] = []): Promise<R[]> =>
    (await tx.query<R>({ name: isKept ? `${name} ${key}` : '', text }, [...bounds, ...more])).rows
  const groups = await read<GroupRow>('statistics-groups', READ_GROUPS(weeks))
  const mixed = groups.filter(({ mixedId }) => mixedId !== null)
  const mixedKeys = [mixed.map(({ mixedId }) => mixedId), mixed.map(({ mixedN }) => mixedN)]
  const apart = mixed.length === 0 ? [] : await read<GroupRow>('statistics-mixed', READ_GROUPS(weeks, true), mixedKeys)
  const { clickedIds } = slice
  return {
    groups: toGroups([...groups.filter(({ mixedId }) => mixedId === null), ...apart]),
    clicks:
      clickedIds.length === 0 ? [] : await read<ClickGroup>('statistics-clicks', READ_CLICKS(weeks), [clickedIds]),
  }
}

/** Groups with equal events share them. */
function toGroups(rows: readonly GroupRow[]): EventGroup[] {
  const known = new Map<string, readonly EventKind[]>()
  return rows.map(({ codes, ...group }) => {
    const events = known.get(codes) ?? kindsOf(codes)
    known.set(codes, events)
    return { ...group, events }
  })
}

/** Events after an event with this id were written from this time on. */
export function sinceMsOf({ id }: Pick<EventSlice, 'id'>, nowMs: number): number {
  return Math.min(timeOf(id), nowMs)
}
