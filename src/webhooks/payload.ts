/**
 * The body of a webhook: one flat object with the same fields for every type, in the same order, so that a receiver needs one shape.
 * What an event does not have is null. The text made here is what is signed, sent and kept.
 */
import { hexOf, timeOf } from '#src/id.ts'
import { rowOf } from './event-types.ts'

export interface ReportedMessage {
  readonly to: readonly { readonly email: string }[]
  readonly subject: string
  readonly metadata: object | null
  readonly createdAt: Date
}

/** An event with what its body needs of the message. */
export interface ReportedEvent {
  readonly id: string
  readonly type: string
  readonly workspaceId: string
  readonly messageId: string | null
  readonly sequence: number | null
  readonly recipient: string | null
  readonly data: Readonly<Record<string, unknown>> | null
  readonly createdAt: Date
  /** Null where the event is not about a stored message. */
  readonly message: ReportedMessage | null
}

export function eventName(id: string): string {
  return `evt_${hexOf(id)}`
}

export function payloadOf(event: ReportedEvent): string {
  const { message, messageId } = event
  const data = event.data ?? {}
  return JSON.stringify({
    id: eventName(event.id),
    type: event.type,
    event: event.type,
    timestamp: event.createdAt.toISOString(),
    workspace_id: event.workspaceId,
    email_id: messageId === null ? null : `em_${hexOf(messageId)}`,
    message_id: messageId === null ? null : `msg_${message?.createdAt.getTime() ?? timeOf(messageId)}_${hexOf(messageId)}`,
    recipient: event.recipient,
    // an event without a message may bring its own
    to: message === null ? data['to'] ?? null : message.to.map(({ email }) => email),
    subject: message === null ? data['subject'] ?? null : message.subject,
    sequence: event.sequence,
    metadata: message?.metadata ?? {},
    ...Object.fromEntries(rowOf(event.type).lifts.map((field) => [field, data[field] ?? null])),
    data,
  })
}
