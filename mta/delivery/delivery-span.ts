/**
 * The spans of one delivery: one for the attempt, and within it one for each step. They follow the span that accepted
 * the message. A delivery whose trace is not recorded has none, and its steps run as they are.
 */
import type { ClaimedRecipient } from '#src/messages/claim.ts'
import { messageAttributes } from '#src/messages/accept-span.ts'
import { publicNameOf, type Attempt, type Outcome } from '#src/messages/outcome.ts'
import { traced, type SpanAttributes, type SpanEnd, type SpanKindName, type Tracer } from '#src/traces/tracer.ts'
import type { ClaimedDelivery } from './session-grant.ts'

/** What a delivery needs for the spans of its steps. */
export interface DeliveryTrace {
  readonly tracer: Tracer
  /** The span of the attempt. */
  readonly parent: string
}

/** Claims recipients, with a span for each one whose trace is recorded. */
export async function claimWithSpans(
  tracer: Tracer | null,
  claim: () => Promise<readonly ClaimedRecipient[]>,
): Promise<readonly ClaimedRecipient[]> {
  if (tracer === null) return claim()
  const startedAt = performance.now()
  const claimed = await claim()
  for (const one of claimed) {
    if (one.traceparent === null) continue
    const attributes = { ...recipientAttributes(one), 'messaging.operation.type': 'receive' }
    tracer.startSpan({ name: `claim ${one.tier}`, kind: 'consumer', attributes, startedAt }, one.traceparent).end()
  }
  return claimed
}

/** Makes an attempt within a span; its steps find it in `delivery.trace`. */
export function deliverWithSpan(
  tracer: Tracer | null,
  delivery: ClaimedDelivery,
  deliver: () => Promise<Attempt | null>,
): Promise<Attempt | null> {
  const { claimed } = delivery
  if (tracer === null || claimed.traceparent === null) return deliver()
  const attributes = {
    ...recipientAttributes(claimed),
    'messaging.operation.type': 'process',
    'mailstead.site': delivery.site,
    'mailstead.source': delivery.selected.source,
  }
  return traced(
    tracer,
    { name: `deliver ${claimed.tier}`, kind: 'consumer', attributes, parent: claimed.traceparent },
    {
      work: (span) => {
        if (span !== null) delivery.trace = { tracer, parent: span.traceparent }
        return deliver()
      },
      describe: describeAttempt,
    },
  )
}

interface StepSpan<T> {
  readonly name: string
  readonly kind: SpanKindName
  readonly describe?: (result: T) => SpanEnd
}

/** Runs a step of a delivery within a span, if its trace is recorded. */
export function inStep<T>(
  { trace }: Pick<ClaimedDelivery, 'trace'>,
  { name, kind, describe }: StepSpan<T>,
  work: () => Promise<T>,
): Promise<T> {
  if (trace === undefined) return work()
  return traced(trace.tracer, { name, kind, parent: trace.parent }, { work, ...(describe && { describe }) })
}

function recipientAttributes({ messageId, n, tier, address, attempt, requestId }: ClaimedRecipient): SpanAttributes {
  return {
    ...messageAttributes(messageId),
    'messaging.destination.name': tier,
    'mailstead.request.id': requestId,
    'mailstead.recipient': address,
    'mailstead.recipient.number': n,
    'mailstead.attempt': attempt,
  }
}

const SUCCESSES: ReadonlySet<Outcome['kind']> = new Set(['delivered', 'relayed'])

/** Null: no attempt was made, and the recipient is released. */
function describeAttempt(attempt: Attempt | null): SpanEnd {
  if (attempt === null) return { attributes: { 'mailstead.outcome': 'released' } }
  const { outcome } = attempt
  const attributes = { 'mailstead.outcome': publicNameOf(outcome) }
  if (SUCCESSES.has(outcome.kind) || !('detail' in outcome)) return { attributes }
  return { attributes: { ...attributes, 'error.type': outcome.reason }, error: outcome.detail }
}

/** Such as `TLSv1.3 TLS_AES_256_GCM_SHA384, …`. */
const TLS = /^TLSv(\S+) (\S+),/

/** The conversation with the receiver's host, or with that of a connected account. */
export const SMTP_STEP: StepSpan<Attempt | null> = {
  name: 'SMTP',
  kind: 'client',
  describe: (attempt) => {
    const { attributes = {}, error } = describeAttempt(attempt)
    const reply = attempt !== null && 'reply' in attempt.outcome ? attempt.outcome.reply : null
    const [, version, cipher] = TLS.exec(attempt?.tls ?? '') ?? []
    const described = {
      ...attributes,
      'network.protocol.name': 'smtp',
      'server.address': attempt?.host,
      'network.peer.address': attempt?.address,
      'tls.established': attempt !== null && attempt.host !== null ? attempt.tls !== null : undefined,
      'tls.protocol.name': version === undefined ? undefined : 'tls',
      'tls.protocol.version': version,
      'tls.cipher': cipher,
      'mailstead.smtp.reply_code': reply?.code,
      'mailstead.smtp.enhanced_code': reply?.enhanced,
    }
    return error === undefined ? { attributes: described } : { attributes: described, error }
  },
}
