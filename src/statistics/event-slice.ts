/**
 * Reads the events after a cursor in the order in which they became visible (`src/events/feed.ts`): first where a slice
 * ends and from which weeks its messages are, then its events in groups of those that differ in nothing that is
 * counted. Only transactions older than every running one are read, so no event can appear before the cursor later.
 * What an event counts for is read beside it: its message, and the last attempt that began before it.
 */
import { MAX_EVENT_LAG_MS } from '#src/events/reported-event.ts'
import { idAt, timeOf } from '#src/platform/id.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { weekly, weeksOf, weeksSince } from '#src/stores/weeks.ts'
import { COUNTED_TYPES, type ClickGroup, type EventGroup } from './tally.ts'

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
  readonly hasClicks: boolean
}

const FIND_SLICE = weekly(
  'statistics-slice',
  (weeks) => sql`
    SELECT count(*)::int AS events, (array_agg(tx ORDER BY tx DESC, id DESC))[1] AS tx,
      (array_agg(id ORDER BY tx DESC, id DESC))[1] AS id,
      array_agg(DISTINCT left(message_id::text, 7)) FILTER (WHERE message_id IS NOT NULL) AS blocks,
      coalesce(bool_or(type = 'email.clicked'), false) AS "hasClicks"
    FROM (
      SELECT e.tx, e.id, e.message_id, e.type
      FROM events e
      WHERE (e.tx, e.id) > ($1::xid8, $2::uuid)
        AND e.id >= $3::uuid
        AND ${weeks.contain('e.id')}
        AND e.tx < pg_snapshot_xmin(pg_current_snapshot())
        AND e.tx < coalesce($4::xid8, '18446744073709551615')
      ORDER BY e.tx, e.id
      LIMIT $5
    ) slice
  `,
)

interface SliceRow {
  readonly events: number
  readonly tx: string | null
  readonly id: string
  readonly blocks: readonly string[] | null
  readonly hasClicks: boolean
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
  if (row === undefined || row.tx === null) return null
  const { events, id, blocks, hasClicks } = row
  // seven hex digits of an id are blocks of 17 minutes; both ends, since a week may begin within a block
  const messageIds = (blocks ?? []).flatMap((block) => [endOfBlock(block, '0'), endOfBlock(block, 'f')])
  return { events, tx: row.tx, id, messageIds, hasClicks }
}

function firstMsOf({ sinceMs }: EventCursor): number {
  return Math.max(0, Math.floor(sinceMs - MAX_EVENT_LAG_MS))
}

function endOfBlock(block: string, digit: string): string {
  return `${block}${digit}-${digit.repeat(4)}-${digit.repeat(4)}-${digit.repeat(4)}-${digit.repeat(12)}`
}

/** The events of the slice; $1 to $5 are its bounds. `weeks` are those of the events and of their messages. */
const inSlice = (sinceCursor: string): string => sql`
  (e.tx, e.id) > ($1::xid8, $2::uuid)
    AND (e.tx, e.id) <= ($3::xid8, $4::uuid)
    AND e.id >= $5::uuid
    AND ${sinceCursor}`

/** Whether its workspace exists is asked for each group, not for each event. */
const READ_GROUPS = (sinceCursor: string, ofMessages: (column: string) => string): string => sql`
  SELECT found.*
  FROM (
    SELECT e.workspace_id AS "workspaceId", date_bin('1 minute', e.created_at, 'epoch') AS at, e.type,
      coalesce(e.data ->> 'bounce_type' = 'hard', false) AS "isHard",
      coalesce(e.data ->> 'machine' = 'true', false) AS "isMachine",
      coalesce(e.data ->> 'first' = 'true', false) AS "isFirst",
      e.type = 'email.failed' AND coalesce(e.data ->> 'reason' = 'suppressed', false) AS "isSuppressed",
      left(CASE e.type
        WHEN 'email.bounced' THEN e.data ->> 'bounce_class'
        WHEN 'email.deferred' THEN e.data ->> 'reason'
      END, 100) AS class,
      m.tier, lower(substring(m.from_email FROM '[^@]*$')) AS domain, m.tags, m.campaign_id::text AS campaign,
      coalesce(m.template ->> 'id', c.template_id::text) AS template,
      a.attempt IS NOT NULL AS "isAttempted", a.host, a.source, a.tls IS NOT NULL AS "isEncrypted",
      CASE WHEN a.attempt IS NOT NULL AND a.host IS NULL THEN lower(substring(e.recipient FROM '[^@]*$')) ELSE '' END
        AS "recipientDomain",
      max(left(CASE e.type
        WHEN 'email.bounced' THEN e.data ->> 'bounce_message'
        WHEN 'email.deferred' THEN e.data ->> 'message'
      END, 1000)) AS reply,
      count(*)::int AS count
    FROM events e
    LEFT JOIN messages m ON m.id = e.message_id AND ${ofMessages('m.id')}
    LEFT JOIN mail_contents c ON c.id = m.content_id
    LEFT JOIN LATERAL (
      SELECT attempt, host, source, tls
      FROM attempts
      WHERE message_id = e.message_id AND n = e.n AND at <= e.created_at AND ${ofMessages('message_id')}
        AND e.type NOT IN ('email.queued', 'email.scheduled')
      ORDER BY attempt DESC
      LIMIT 1
    ) a ON true
    WHERE ${inSlice(sinceCursor)}
      AND e.type = ANY ($6::text[])
      AND e.message_id IS NOT NULL
      AND e.data ->> 'test' IS NULL
    GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18
  ) found
  JOIN workspaces w ON w.id = found."workspaceId"`

const READ_CLICKS = (sinceCursor: string, ofMessages: (column: string) => string): string => sql`
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
        AND b.n = e.n
        AND b.type = e.type
        AND b.data ->> 'url' = e.data ->> 'url'
        AND coalesce(b.data ->> 'machine' <> 'true', true)
    ) AS "isFirst",
    count(*)::int AS count
  FROM events e
  JOIN workspaces w ON w.id = e.workspace_id
  LEFT JOIN messages m ON m.id = e.message_id AND ${ofMessages('m.id')}
  LEFT JOIN mail_contents c ON c.id = m.content_id
  WHERE ${inSlice(sinceCursor)}
    AND e.type = 'email.clicked'
    AND e.message_id IS NOT NULL
    AND e.data ->> 'url' IS NOT NULL
    AND e.data ->> 'test' IS NULL
  GROUP BY 1, 2, 3, 4, 5, 6`

/** What the slice adds up to. */
export async function readSlice(
  tx: Queryable,
  cursor: EventCursor,
  slice: EventSlice,
): Promise<{ readonly groups: readonly EventGroup[]; readonly clicks: readonly ClickGroup[] }> {
  const [ofEvents, ofMessages] = [weeksSince(firstMsOf(cursor)), weeksOf(slice.messageIds)]
  const key = ofEvents.key === null || ofMessages.key === null ? null : `${ofEvents.key} ${ofMessages.key}`
  const read = async <R extends object>(
    name: string,
    textFor: typeof READ_GROUPS,
    more: readonly unknown[] = [],
  ): Promise<R[]> => {
    const text = textFor(ofEvents.contain('e.id'), (column) => ofMessages.contain(column))
    const bounds = [cursor.tx, cursor.id, slice.tx, slice.id, idAt(firstMsOf(cursor))]
    return (await tx.query<R>({ name: key === null ? '' : `${name} ${key}`, text }, [...bounds, ...more])).rows
  }
  const groups = await read<EventGroup>('statistics-groups', READ_GROUPS, [COUNTED_TYPES])
  return { groups, clicks: slice.hasClicks ? await read<ClickGroup>('statistics-clicks', READ_CLICKS) : [] }
}

/** Events after an event with this id were written from this time on. */
export function sinceMsOf({ id }: Pick<EventSlice, 'id'>, nowMs: number): number {
  return Math.min(timeOf(id), nowMs)
}
