/**
 * An event as clients get it, from webhooks and from the feed: the columns to select, the event with the fields of its
 * message, and its JSON. The JSON is one flat object with the same fields in the same order for every type, so that a
 * receiver needs one schema. Missing values are null. If the message is no longer stored, or the event has none,
 * `message` is null.
 */
import { hexOf, timeOf } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
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

export interface ReportedRow {
  readonly id: string
  readonly type: string
  readonly workspace_id: string
  readonly message_id: string | null
  readonly sequence: number | null
  readonly recipient: string | null
  readonly data: Record<string, unknown> | null
  readonly created_at: Date
  readonly to_list: { readonly email: string }[] | null
  readonly subject: string | null
  readonly metadata: object | null
  readonly campaign_id: string | null
  readonly message_created_at: Date | null
}

/** The columns of a ReportedRow, from `events e LEFT JOIN messages m`. */
export const REPORTED = sql`
  e.id, e.type, e.workspace_id, e.message_id, e.sequence, e.recipient, e.data, e.created_at, m.to_list, m.subject,
  m.metadata, m.campaign_id, m.created_at AS message_created_at
`

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
    to: message === null ? (data['to'] ?? null) : message.to.map(({ email }) => email),
    subject: message === null ? (data['subject'] ?? null) : message.subject,
    sequence: event.sequence,
    metadata: message?.metadata ?? {},
    ...Object.fromEntries(Object.keys(eventTypeRow(event.type).fields).map((field) => [field, data[field] ?? null])),
    data,
  }
}
