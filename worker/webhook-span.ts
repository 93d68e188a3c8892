/**
 * The span of one request to a webhook endpoint. It follows the span that accepted the message, and the request has it
 * in its header `traceparent`. The URL is left out, because URLs of webhooks often contain a secret.
 */
import { messageAttributes } from '#src/messages/accept-span.ts'
import { eventName } from '#src/events/reported-event.ts'
import { traced, type SpanEnd, type Tracer } from '#src/traces/tracer.ts'
import type { WebhookAttempt } from '#src/webhooks/attempt.ts'
import type { WebhookDelivery } from '#src/webhooks/claim.ts'

/** `attempt` gets the traceparent of its request; null for none. */
export function attemptWithSpan(
  tracer: Tracer | null,
  { message, eventId, target, attempts }: WebhookDelivery,
  attempt: (traceparent: string | null) => Promise<WebhookAttempt>,
): Promise<WebhookAttempt> {
  if (tracer === null || message === null || message.traceparent === null) return attempt(null)
  const url = URL.parse(target.url)
  const attributes = {
    ...messageAttributes(message.id),
    'http.request.method': 'POST',
    'http.request.resend_count': attempts === 0 ? undefined : attempts,
    'server.address': url?.hostname,
    'server.port': url === null ? undefined : Number(url.port) || (url.protocol === 'https:' ? 443 : 80),
    'url.scheme': url?.protocol.slice(0, -1),
    'mailstead.request.id': message.requestId,
    'mailstead.event.id': eventName(eventId),
  }
  return traced(
    tracer,
    { name: 'POST', kind: 'client', attributes, parent: message.traceparent },
    { work: (span) => attempt(span?.traceparent ?? null), describe: describeResult },
  )
}

function describeResult({ verdict: { error }, record: { status } }: WebhookAttempt): SpanEnd {
  const attributes = { 'http.response.status_code': status }
  if (error === null) return { attributes }
  return { attributes: { ...attributes, 'error.type': status === null ? 'no-response' : String(status) }, error }
}
