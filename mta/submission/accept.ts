/**
 * Accepts one message, between the end of its data and the reply. The 250 names the message id and follows the commit,
 * never precedes it. A client that loses the connection before the 250 sends the message again; X-Idempotency-Key makes
 * both one message. The Message-ID does not, because some programs reuse one for many messages.
 */
import { isDatabaseAway } from '#src/stores/db.ts'
import type { OpenSpan } from '#src/traces/tracer.ts'
import { hexOf } from '#src/platform/id.ts'
import type { AcceptResult, MessageOrigin, Submission } from '#src/messages/submission.ts'
import { validateOctets } from '#src/submission/message-octets.ts'
import { digestOfMessage, prepareSubmission } from '#src/submission/prepare.ts'
import { recipientsOf } from '#src/submission/recipients.ts'
import type { SubmissionSender } from '#src/submission/sender.ts'
import { SubmissionError, type SubmissionProblem } from '#src/submission/submission-error.ts'
import { type SubmittedMessage, parseSubmittedMessage } from '#src/submission/submitted-message.ts'
import { ReplyError } from '#mta/smtp-server/reply.ts'
import { planOf, type SubmissionContext } from './context.ts'
import { envelopeOf } from './envelope.ts'
import type { SubmissionSession } from './handlers.ts'
import { receivedField } from './received.ts'

export interface ReceivedMessage {
  /** The id of the transaction, which is in all log lines about its message. */
  readonly requestId: string
  /** Null while its trace is not recorded. */
  readonly span: OpenSpan | null
  readonly octets: Buffer
  readonly session: SubmissionSession
  readonly sender: SubmissionSender
}

/** Returns the text of the 250. @throws ReplyError for every other result. */
export async function acceptMessage(ctx: SubmissionContext, data: ReceivedMessage): Promise<string> {
  const { octets, requestId } = data
  try {
    const refusal = validateOctets(octets)
    if (refusal !== null) throw refusal
    const message = parseSubmittedMessage(octets)
    const origin: MessageOrigin = { requestId, traceparent: data.span?.traceparent ?? null }
    const submission = { ...(await prepare(ctx, data, message)), origin }
    const answer = replyTextOf(await ctx.acceptor.accept(submission), queuedText(submission.id))
    const { id, from, recipients, tier } = submission
    const { remoteAddress: peer } = data.session
    ctx.log.info(
      { requestId, id, from: from.email, recipients: recipients.length, tier, octets: octets.length, peer },
      'accepted',
    )
    return answer
  } catch (error) {
    throw toReplyError(ctx, error, requestId)
  }
}

async function prepare(
  ctx: SubmissionContext,
  { session, sender }: ReceivedMessage,
  message: SubmittedMessage,
): Promise<Submission> {
  const rcptTo = session.rcptTo.map(({ address }) => address)
  const recipients = recipientsOf(rcptTo, message, sender)
  const submission = await prepareSubmission(ctx, {
    sender,
    message,
    recipients,
    envelope: await envelopeOf(session, sender, recipients),
    quota: planOf(ctx, sender.plan).monthlyQuota,
    receivedField: (receipt) => receivedField(session, receipt),
  })
  const { idempotencyKey: key } = message.options
  if (key === null) return submission
  const bodyHash = digestOfMessage(message, recipients)
  return { ...submission, idempotency: { key, bodyHash, answer: queuedText(submission.id) } }
}

function queuedText(id: string): string {
  return `2.0.0 queued as em_${hexOf(id)}`
}

function replyTextOf(accepted: AcceptResult, text: string): string {
  if (accepted.kind === 'stored') return text
  if (accepted.kind === 'replayed') return accepted.answer
  throw NOT_ACCEPTED[accepted.kind]
}

const NOT_ACCEPTED: Readonly<Record<Exclude<AcceptResult['kind'], 'stored' | 'replayed'>, ReplyError>> = {
  mismatch: new ReplyError(554, '5.6.0 This X-Idempotency-Key was used with a different message: use a new one'),
  'in-progress': new ReplyError(451, '4.7.0 A message with this X-Idempotency-Key is still being processed'),
  'over-quota': new ReplyError(
    452,
    '4.7.1 The monthly quota of the plan is used up: ask the operator for another plan',
  ),
}

const CODES: Readonly<Record<SubmissionProblem, readonly [code: number, status: string]>> = {
  content: [550, '5.6.0'],
  template: [550, '5.6.0'],
  forbidden: [550, '5.7.1'],
  'too-large': [552, '5.3.4'],
  loop: [554, '5.4.6'],
}

function replyTo({ problem, message }: SubmissionError): [code: number, text: string] {
  const [code, status] = CODES[problem]
  return [code, `${status} ${message}`]
}

function toReplyError({ log }: SubmissionContext, error: unknown, requestId: string): ReplyError {
  if (error instanceof ReplyError) return error
  if (error instanceof SubmissionError) return new ReplyError(...replyTo(error))
  const isAway = isDatabaseAway(error)
  log[isAway ? 'warn' : 'error']({ err: error, requestId }, 'failed to accept a message')
  return new ReplyError(
    451,
    isAway ? '4.3.0 The message cannot be stored now, try again later' : '4.3.0 Internal error, try again later',
  )
}
