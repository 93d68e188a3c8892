/**
 * The body of a webhook: one flat object with the same fields in the same order for every type, so that a receiver
 * needs one schema. Missing values are null. This text is what is signed, sent and stored.
 */
import { hexOf, timeOf } from '#src/platform/id.ts'
import { eventTypeRow } from '#src/events/catalogue.ts'
import type { ReportedEvent } from '#src/events/reported-event.ts'

export function eventName(id: string): string {
  return `evt_${hexOf(id)}`
}

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
