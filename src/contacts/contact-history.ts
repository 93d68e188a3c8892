/**
 * The history of a contact, newest first: the messages to its address, what it did with them, its joins and leaves, and
 * changes of its attributes. All of them have ids that begin with their time (UUIDv7), so one order and one cursor
 * serves. It is read in windows of weeks: a page costs the same however long mail is stored. Mail to an earlier address
 * of the contact is not included.
 *
 * Changes are recorded by a trigger of the table `contacts`, go with their contact, and are deleted after a year
 * (worker/housekeeping.ts).
 */
import { timeOf } from '#src/platform/id.ts'
import type { Db, Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'

const HISTORY_EVENTS = [
  'email.opened',
  'email.clicked',
  'email.bounced',
  'email.complained',
  'email.unsubscribed',
  'contact.subscribed',
  'contact.unsubscribed',
] as const
export const HISTORY_TYPES = ['message', ...HISTORY_EVENTS, 'contact.changed'] as const
export type HistoryType = (typeof HISTORY_TYPES)[number]

export interface FieldChange {
  readonly field: string
  readonly from: unknown
  readonly to: unknown
}

export interface HistoryItem {
  /** Of the message, the event or the change. */
  readonly id: string
  readonly type: HistoryType
  readonly at: Date
  readonly messageId: string | null
  /** Of a message. */
  readonly subject: string | null
  readonly state: string | null
  readonly campaignId: string | null
  /** Of an event. */
  readonly data: Readonly<Record<string, unknown>> | null
  readonly changes: readonly FieldChange[] | null
}

export interface HistoryQuery {
  readonly workspaceId: string
  readonly contactId: string
  readonly email: string
  readonly limit: number
}

/** Ids from `from` to before `to`. */
export interface HistoryWindow {
  readonly from: string
  readonly to: string
}

const EVENTS = HISTORY_EVENTS.map((type) => `'${type}'`).join(', ')

const IN_WINDOW = sql`
  SELECT i.*, m.subject
  FROM (
    (
      SELECT r.message_id AS id, 'message' AS type, NULL::timestamptz AS at, r.message_id AS "messageId", r.state,
        r.campaign_id AS "campaignId", NULL::jsonb AS data, NULL::jsonb AS changes
      FROM recipients r
      WHERE r.workspace_id = $1
        AND lower(r.address) COLLATE "C" = lower($2)
        AND r.message_id >= $4
        AND r.message_id < $5
      ORDER BY r.message_id DESC
      LIMIT $6
    )
    UNION ALL
    (
      SELECT e.id, e.type, e.created_at, e.message_id, NULL, NULL, e.data, NULL
      FROM events e
      WHERE e.workspace_id = $1
        AND lower(e.recipient) COLLATE "C" = lower($2)
        AND e.type IN (${EVENTS})
        AND e.data ->> 'test' IS NULL
        AND e.id >= $4
        AND e.id < $5
      ORDER BY e.id DESC
      LIMIT $6
    )
    UNION ALL
    (
      SELECT c.id, 'contact.changed', NULL, NULL, NULL, NULL, NULL, c.changes
      FROM contact_changes c
      WHERE c.contact_id = $3 AND c.workspace_id = $1 AND c.id >= $4 AND c.id < $5
      ORDER BY c.id DESC
      LIMIT $6
    )
    ORDER BY id DESC
    LIMIT $6
  ) i
  LEFT JOIN messages m ON m.id = i.id AND i.type = 'message' AND m.id >= $4 AND m.id < $5
  ORDER BY i.id DESC
`

type HistoryRow = Omit<HistoryItem, 'at'> & { readonly at: Date | null }

async function readWindow(db: Queryable, query: HistoryQuery, { from, to }: HistoryWindow): Promise<HistoryRow[]> {
  const { workspaceId, email, contactId, limit } = query
  return (await db.query<HistoryRow>(IN_WINDOW, [workspaceId, email, contactId, from, to, limit])).rows
}

/** Windows in the order in which they are read; the old ones on a connection of their own (Db.apart). */
export interface HistoryWindows {
  readonly recent: readonly HistoryWindow[]
  readonly old: readonly HistoryWindow[]
}

/** Up to `limit` items, the newest first. */
export async function readHistory(
  db: Pick<Db, 'query' | 'apart'>,
  query: HistoryQuery,
  { recent, old }: HistoryWindows,
): Promise<HistoryItem[]> {
  const found: HistoryRow[] = []
  const read = async (by: Queryable, windows: readonly HistoryWindow[]): Promise<void> => {
    for (const window of windows) {
      if (found.length >= query.limit) return
      found.push(...(await readWindow(by, { ...query, limit: query.limit - found.length }, window)))
    }
  }
  await read(db, recent)
  if (found.length < query.limit && old.length > 0) await db.apart((own) => read(own, old))
  return found.map(({ at, ...item }) => ({ ...item, at: at ?? new Date(timeOf(item.id)) }))
}
