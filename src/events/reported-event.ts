/**
 * An event as clients get it, from webhooks and from the feed: the columns to select, the event with the fields of its
 * message, and its JSON. The JSON is one flat object with the same fields in the same order for every type, so that a
 * receiver needs one schema. Missing values are null. If the message is no longer stored, or the event has none,
 * `message` is null.
 */
import { hexOf, timeOf } from '#src/platform/id.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { expectOneRow, weekly } from '#src/stores/weeks.ts'
import { eventTypeRow } from './catalogue.ts'

export interface ReportedMessage {
  readonly to: readonly { readonly email: string }[]
  readonly subject: string
  readonly metadata: object | null
  /** For a campaign's message. */
  readonly campaignId: string | null
  readonly createdAt: Date
}

/** An event with the fields of its message. */
export interface ReportedEvent {
  readonly id: string
  readonly type: string
  readonly workspaceId: string
  readonly messageId: string | null
  readonly sequence: number | null
  readonly recipient: string | null
  readonly data: Readonly<Record<string, unknown>> | null
  readonly createdAt: Date
  /** Null if the event has no stored message. */
  readonly message: ReportedMessage | null
}

/** The columns of an event. */
export interface EventRow {
  readonly id: string
  readonly type: string
  readonly workspace_id: string
  readonly message_id: string | null
  readonly sequence: number | null
  readonly recipient: string | null
  readonly data: Record<string, unknown> | null
  readonly created_at: Date
}

/** The columns of an event and of its message. */
export interface ReportedRow extends EventRow {
  readonly to_list: { readonly email: string }[] | null
  readonly subject: string | null
  readonly metadata: object | null
  readonly campaign_id: string | null
  readonly message_created_at: Date | null
  readonly request_id: string | null
  readonly traceparent: string | null
}

/**
 * An event is recorded at most this long after the time in its id, by the clock of PostgreSQL. So the events that
 * follow one in the feed have no older ids, and the feed does not read the weeks before.
 */
export const MAX_EVENT_LAG_MS = 2 * 24 * 3600 * 1000

/** The columns of an EventRow, from `events e`. */
export const EVENT_COLUMNS = 'e.id, e.type, e.workspace_id, e.message_id, e.sequence, e.recipient, e.data, e.created_at'

type MessageOfEvent = Omit<ReportedRow, keyof EventRow>

const MESSAGES = weekly(
  'events-messages',
  (weeks) => sql`
    SELECT m.id, m.to_list, m.subject, m.metadata, m.campaign_id, m.created_at AS message_created_at,
      m.request_id, m.traceparent
    FROM unnest($1::uuid[]) WITH ORDINALITY AS i (id, ord)
    JOIN messages m ON m.id = i.id
    WHERE ${expectOneRow('i.ord')} AND ${weeks.contain('m.id')}
  `,
)

const NO_MESSAGE: MessageOfEvent = {
  to_list: null,
  subject: null,
  metadata: null,
  campaign_id: null,
  message_created_at: null,
  request_id: null,
  traceparent: null,
}

/** Adds the messages of events, in one statement. An event may be months younger than its message. */
export async function addMessages<R extends EventRow>(
  db: Queryable,
  events: readonly R[],
): Promise<(R & MessageOfEvent)[]> {
  const ids = [...new Set(events.flatMap(({ message_id: id }) => id ?? []))]
  const { rows } =
    ids.length === 0 ? { rows: [] } : await db.query<MessageOfEvent & { id: string }>(MESSAGES.for(ids), [ids])
  const messages = new Map(rows.map(({ id, ...message }) => [id, message]))
  return events.map((event) => ({ ...event, ...(messages.get(event.message_id ?? '') ?? NO_MESSAGE) }))
}

export function reportedOf(row: ReportedRow): ReportedEvent {
  return {
    id: row.id,
    type: row.type,
    workspaceId: row.workspace_id,
    messageId: row.message_id,
    sequence: row.sequence,
    recipient: row.recipient,
    data: row.data,
    createdAt: row.created_at,
    message:
      row.to_list === null || row.message_created_at === null
        ? null
        : {
            to: row.to_list,
            subject: row.subject ?? '',
            metadata: row.metadata,
            campaignId: row.campaign_id,
            createdAt: row.message_created_at,
          },
  }
}

export function eventName(id: string): string {
  return `evt_${hexOf(id)}`
}

/** The body of a webhook: this text is what is signed, sent and stored. */
export function payloadOf(event: ReportedEvent): string {
  return JSON.stringify(payloadObject(event))
}

/** Of an event without a message: addresses, or objects with an address (received mail). */
function addressesOf(list: unknown): readonly unknown[] | null {
  if (!Array.isArray(list)) return null
  return list.map((one: unknown) => (typeof one === 'object' && one !== null && 'address' in one ? one.address : one))
}

/** The same as an object, for responses with many events. */
export function payloadObject(event: ReportedEvent): Record<string, unknown> {
  const { message, messageId } = event
  const campaignId = message?.campaignId ?? null
  const data = { ...event.data, ...(campaignId === null ? {} : { campaign_id: campaignId }) } as Readonly<
    Record<string, unknown>
  >
  return {
    id: eventName(event.id),
    type: event.type,
    event: event.type,
    timestamp: event.createdAt.toISOString(),
    workspace_id: event.workspaceId,
    email_id: messageId === null ? null : `em_${hexOf(messageId)}`,
    message_id:
      messageId === null ? null : `msg_${message?.createdAt.getTime() ?? timeOf(messageId)}_${hexOf(messageId)}`,
    recipient: event.recipient,
    // an event without a message may have its own
    to: message === null ? addressesOf(data['to']) : message.to.map(({ email }) => email),
    subject: message === null ? (data['subject'] ?? null) : message.subject,
    sequence: event.sequence,
    metadata: message?.metadata ?? {},
    ...Object.fromEntries(Object.keys(eventTypeRow(event.type).fields).map((field) => [field, data[field] ?? null])),
    data,
  }
}
