/**
 * The span of the acceptance of a message: from the batch that it waits for to the commit. It is stored with the
 * message as the parent of all spans that follow in other processes. Without a trace, the message is only stored.
 */
import { traced, type Tracer } from '#src/traces/tracer.ts'
import { hexOf } from '#src/platform/id.ts'
import type { AcceptResult, Submission } from './submission.ts'

/** What all spans about a message say of it. */
export function messageAttributes(messageId: string): Readonly<Record<string, string>> {
  return { 'messaging.system': 'mailstead', 'messaging.message.id': `em_${hexOf(messageId)}` }
}

export function acceptWithSpan(
  tracer: Tracer | null,
  submission: Submission,
  accept: (submission: Submission) => Promise<AcceptResult>,
): Promise<AcceptResult> {
  const { origin, id, tier, recipients } = submission
  if (tracer === null || origin === undefined || origin.traceparent === null) return accept(submission)
  const attributes = {
    ...messageAttributes(id),
    'messaging.operation.name': 'accept',
    'messaging.operation.type': 'send',
    'messaging.destination.name': tier,
    'mailstead.request.id': origin.requestId,
    'mailstead.recipients': recipients.length,
  }
  return traced(
    tracer,
    { name: `accept ${tier}`, kind: 'producer', attributes, parent: origin.traceparent },
    {
      work: (span) =>
        accept({ ...submission, origin: { ...origin, traceparent: span?.traceparent ?? origin.traceparent } }),
      describe: ({ kind }) => ({ attributes: { 'mailstead.result': kind } }),
    },
  )
}
