/**
 * One raw send, from the parsed message to the submission. The message is treated as the same message by SMTP: the
 * same checks of its authors, the same options in its header, the same added fields (`src/submission`). What the
 * request says takes precedence over the header; tags and metadata add up. Writes nothing.
 */
import type { Caller } from '#src/auth/keys.ts'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { parseTime } from '#src/platform/time-input.ts'
import type { Submission, SubmittedEnvelope, SubmittedRecipient } from '#src/messages/submission.ts'
import { maxOctets } from '#src/submission/message-octets.ts'
import { digestOfHashed, prepareSubmission, type Receipt } from '#src/submission/prepare.ts'
import { readHeaderRecipients, recipientsOf } from '#src/submission/recipients.ts'
import { senderOfKey, type SubmissionSender } from '#src/submission/sender.ts'
import { SubmissionError, type SubmissionProblem } from '#src/submission/submission-error.ts'
import type { SubmittedMessage } from '#src/submission/submitted-message.ts'
import { checkPlan } from '#api/http/authorise.ts'
import { planOf, type ApiContext } from '#api/http/context.ts'
import { isRefusal } from '#api/http/response.ts'
import { validateCount, validateExpiry, validateScheduledTime } from './prepare.ts'
import type { RawEnvelope, RawMessage, RawSendBody } from './raw-body.ts'
import { digestOf } from './send.ts'

/** A raw send with what its query and its body say together. */
export interface RawSend {
  readonly message: SubmittedMessage
  readonly bodyHash: Buffer
  readonly from: RawEnvelope['from']
  readonly to: RawEnvelope['to']
  readonly times: Pick<Submission, 'scheduledAt' | 'timezone' | 'expiresAt'>
}

export interface PreparedRaw {
  /** Distinguishes it from others with the same idempotency key. */
  readonly bodyHash: Buffer
  readonly submission: Submission | Refusal
}

export async function prepareRaw(ctx: ApiContext, caller: Caller, send: RawSend): Promise<PreparedRaw | Refusal> {
  const { message, times } = send
  const sender = senderOfKey(caller)
  const recipients = listRecipients(ctx, sender, send)
  if (isRefusal(recipients)) return recipients
  const content = digestOfHashed(message.fields, send.bodyHash, recipients)
  const { tier, tags, metadata, trackOpens, trackClicks } = message.options
  const options = { tier, tags, metadata, trackOpens, trackClicks, from: send.from }
  const bodyHash = digestOf('send raw', { content, times, options })
  const refusal = validateCount(ctx, recipients) ?? checkTimes(ctx, caller, times)
  if (refusal !== null) return { bodyHash, submission: refusal }
  const transaction = {
    sender,
    message,
    recipients,
    times,
    envelope: await envelopeOf(sender, send),
    quota: planOf(ctx, caller.plan).monthlyQuota,
    receivedField,
  }
  return { bodyHash, submission: await prepareSubmission(ctx, transaction).catch(toRefusal) }
}

/** What the query and the body of a request say together, and the message. The body takes precedence. */
export function readRawSend(
  ctx: ApiContext,
  { message, envelope, options }: RawSendBody,
  query: RawEnvelope,
): RawSend | Refusal {
  const max = maxOctets(ctx.config)
  const { length } = message.octets
  if (length > max)
    return refuse(
      'PAYLOAD_TOO_LARGE',
      `The message has ${length} octets; at most ${max}. Send links instead of large files.`,
    )
  const times = readTimes(envelope, query)
  if (isRefusal(times)) return times
  return {
    message: { ...withBody(message), options: mergeOptions(message.options, options, envelope.tier ?? query.tier) },
    bodyHash: message.bodyHash,
    from: envelope.from ?? query.from,
    to: envelope.to.length > 0 ? envelope.to : query.to,
    times: { ...times, expiresAt: options.expiresAt },
  }
}

function withBody({ octets, bodyAt, fields, authors, to, cc, subject, options }: RawMessage): SubmittedMessage {
  return { fields, body: octets.subarray(bodyAt), authors, to, cc, subject, options }
}

function mergeOptions(
  header: SubmittedMessage['options'],
  { tags, metadata, trackOpens, trackClicks }: RawSendBody['options'],
  tier: RawEnvelope['tier'],
): SubmittedMessage['options'] {
  return {
    ...header,
    tier: tier ?? header.tier,
    tags: [...new Set([...header.tags, ...tags])],
    metadata: metadata === null ? header.metadata : { ...header.metadata, ...metadata },
    trackOpens: trackOpens ?? header.trackOpens,
    trackClicks: trackClicks ?? header.trackClicks,
  }
}

function readTimes(body: RawEnvelope, query: RawEnvelope): Pick<Submission, 'scheduledAt' | 'timezone'> | Refusal {
  const text = body.scheduledAt ?? query.scheduledAt
  if (text === null) return { scheduledAt: null, timezone: null }
  const timezone = body.timezone ?? query.timezone ?? 'UTC'
  const scheduledAt = parseTime(text, timezone)
  return scheduledAt === null
    ? invalid([{ path: 'scheduled_at', message: 'must be YYYY-MM-DD_HH:MM:SS or ISO 8601' }])
    : { scheduledAt, timezone }
}

function checkTimes(ctx: ApiContext, caller: Caller, times: RawSend['times']): Refusal | null {
  return (
    (times.scheduledAt === null ? null : checkPlan(ctx, caller)) ??
    validateScheduledTime(ctx, times) ??
    validateExpiry(ctx, times)
  )
}

/** Entries in a header may occur twice, in To and in Cc. */
const REPEATS = 2

function listRecipients(
  ctx: ApiContext,
  sender: SubmissionSender,
  { message, to }: RawSend,
): readonly SubmittedRecipient[] | Refusal {
  try {
    const addresses =
      to.length > 0 ? to.map(({ email }) => email) : readHeaderRecipients(message, REPEATS * ctx.config.maxRecipients)
    if (addresses.length > 0) return recipientsOf(addresses, message, sender)
    return invalid([{ path: 'to', message: 'is required, because the message names no recipient in To, Cc or Bcc' }])
  } catch (error) {
    return toRefusal(error)
  }
}

/**
 * Reports go to the envelope sender only if the request names one that the key may use as From: a client must not cause
 * mail to a third party. Without one, events and webhooks report what becomes of the message.
 */
async function envelopeOf(sender: SubmissionSender, { from, message }: RawSend): Promise<SubmittedEnvelope> {
  const [author] = message.authors
  const plain: SubmittedEnvelope = { from: from?.email ?? author.email, protocol: 'http' }
  if (from === null) return plain
  const verdict = await sender.authorizeFrom(from.email)
  return verdict.ok && verdict.domainId !== null ? { ...plain, reportTo: from.email } : plain
}

/** Without the address of the client, which is the customer's own program. */
function receivedField({ by, id, at }: Receipt): string {
  return `Received: by ${by} with HTTP id ${id};\r\n\t${at.toUTCString().replace('GMT', '+0000')}\r\n`
}

const REFUSALS: Readonly<Record<SubmissionProblem, (reason: string) => Refusal>> = {
  content: (message) => invalid([{ path: 'raw', message }]),
  loop: (message) => invalid([{ path: 'raw', message }]),
  'too-large': (reason) => refuse('PAYLOAD_TOO_LARGE', `${reason}.`),
  forbidden: (reason) => refuse('FORBIDDEN', `${reason}.`),
  template: (reason) => refuse('INVALID_TEMPLATE', `${reason}.`),
}

/** @throws every other error. */
function toRefusal(error: unknown): Refusal {
  if (error instanceof SubmissionError) return REFUSALS[error.problem](error.message)
  throw error
}
