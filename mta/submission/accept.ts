/**
 * Accepts one message, from the end of its data to the reply. The 250 names the message id and follows the commit,
 * never precedes it. A client that loses the connection before the 250 sends the message again; X-Idempotency-Key makes
 * both one message. The Message-ID does not, because some programs reuse one for many messages.
 */
import { hash } from 'node:crypto'
import type { SMTPServerDataStream, SMTPServerSession } from 'smtp-server'
import { isDatabaseAway } from '#src/stores/db.ts'
import { hexOf, newId } from '#src/platform/id.ts'
import type { Mailbox } from '#src/mail/address.ts'
import type { AcceptResult, Submission, SubmittedEnvelope } from '#src/messages/submission.ts'
import { policyError, ReplyError } from '#mta/smtp-server/reply.ts'
import { planOf, type SubmissionContext } from './context.ts'
import { addresseesOf, envelopeOf } from './envelope.ts'
import { type SubmittedMessage, parseSubmittedMessage, buildSubmittedMessage } from './submitted-message.ts'
import { validateOctets, readMessageOctets } from './message-bytes.ts'
import { receivedField } from './received.ts'
import type { SubmissionSender } from './sender.ts'
import { renderTemplateMessage } from './template.ts'

export interface DataCommand {
  readonly stream: SMTPServerDataStream
  readonly session: SMTPServerSession
  readonly sender: SubmissionSender
  readonly disconnect: () => void
}

/** Returns the text of the 250. @throws ReplyError for every other result. */
export async function acceptMessage(ctx: SubmissionContext, data: DataCommand): Promise<string> {
  const { octets, release } = await readMessageOctets(data.stream, {
    maxBytes: maxOctets(ctx.config),
    memory: ctx.memory,
    disconnect: data.disconnect,
  })
  try {
    const refusal = validateOctets(octets)
    if (refusal !== null) throw refusal
    const message = parseSubmittedMessage(octets)
    const submission = await prepare(ctx, data, message)
    const answer = replyTextOf(await ctx.acceptor.accept(submission), queuedText(submission.id))
    const { id, from, recipients, tier } = submission
    const { remoteAddress: peer } = data.session
    ctx.log.info({ id, from: from.email, recipients: recipients.length, tier, octets: octets.length, peer }, 'accepted')
    return answer
  } catch (error) {
    throw toReplyError(ctx, error)
  } finally {
    release()
  }
}

/** base64 turns 3 bytes into 4 and adds line ends; the rest is for the header. */
const ENCODED_FACTOR = 1.4

/** The limit that the SIZE extension announces. */
export function maxOctets({ maxMessageBytes }: SubmissionContext['config']): number {
  return Math.ceil(maxMessageBytes * ENCODED_FACTOR) + 65_536
}

async function prepare(
  ctx: SubmissionContext,
  { session, sender }: DataCommand,
  message: SubmittedMessage,
): Promise<Submission> {
  const domainId = await authorizeAuthors(sender, message.authors)
  const {
    options,
    to,
    cc,
    authors: [from],
  } = message
  const now = ctx.clock.now()
  const id = newId(now)
  const recipients = addresseesOf(session, message, sender)
  const envelope = await envelopeOf(session, sender, recipients)
  const claim =
    options.idempotencyKey === null
      ? null
      : {
          key: options.idempotencyKey,
          bodyHash: digestOf(
            message,
            recipients.map(({ address }) => address),
          ),
          answer: queuedText(id),
        }
  return {
    id,
    workspaceId: sender.workspaceId,
    apiKeyId: sender.keyId,
    domainId,
    tier: options.tier,
    from,
    replyTo: null,
    to,
    cc,
    recipients,
    ...(await contentOf(ctx, message, { id, workspaceId: sender.workspaceId, session, envelope })),
    attachments: [],
    tags: options.tags,
    metadata: options.metadata,
    trackOpens: options.trackOpens,
    trackClicks: options.trackClicks,
    scheduledAt: null,
    timezone: null,
    expiresAt: null,
    createdAt: new Date(now),
    quota: planOf(ctx, sender.plan).monthlyQuota,
    idempotency: claim,
  }
}

/** Checks every author. Returns the domain that signs: the first author's. */
async function authorizeAuthors(sender: SubmissionSender, authors: readonly Mailbox[]): Promise<string | null> {
  let signing: string | null = null
  for (const { email } of authors) {
    const verdict = await sender.authorizeFrom(email)
    if (!verdict.ok) throw policyError(verdict.reason)
    signing ??= verdict.domainId
  }
  return signing
}

type MessageContent = Pick<Submission, 'subject' | 'html' | 'text' | 'headers' | 'template' | 'smtp'>

/** The client's octets; with X-Template-Id, the rendered template instead. */
async function contentOf(
  ctx: SubmissionContext,
  message: SubmittedMessage,
  { id, workspaceId, session, envelope }: ContentContext,
): Promise<MessageContent> {
  if (message.options.templateId !== null)
    return { ...(await renderTemplateMessage(ctx, workspaceId, message)), smtp: { raw: null, envelope } }
  const at = new Date(ctx.clock.now())
  const [{ email }] = message.authors
  const trace = {
    received: receivedField(session, { by: ctx.config.serverName, id: hexOf(id), at }),
    date: dateText(at),
    messageId: `<${hexOf(id)}@${email.slice(email.lastIndexOf('@') + 1)}>`,
  }
  return {
    subject: message.subject,
    html: null,
    text: null,
    headers: [],
    smtp: { raw: buildSubmittedMessage(message, trace), envelope },
  }
}

interface ContentContext {
  readonly id: string
  readonly workspaceId: string
  readonly session: SMTPServerSession
  readonly envelope: SubmittedEnvelope
}

function dateText(at: Date): string {
  return at.toUTCString().replace('GMT', '+0000')
}

/** Fields that a client writes anew when it repeats a message. */
const VOLATILE_FIELDS: ReadonlySet<string> = new Set(['date', 'message-id', 'received'])

/** Digest that tells whether two messages with one idempotency key are the same. */
function digestOf({ fields, body }: SubmittedMessage, recipients: readonly string[]): Buffer {
  const head = fields
    .filter(({ name }) => !VOLATILE_FIELDS.has(name))
    .map(({ line }) => line)
    .join('')
  const top = Buffer.from(`smtp\n${recipients.toSorted().join('\n')}\n\n`)
  return hash('sha256', Buffer.concat([top, Buffer.from(head, 'latin1'), body]), 'buffer')
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
  mismatch: new ReplyError(554, '5.6.0 This X-Idempotency-Key was used with a different message'),
  'in-progress': new ReplyError(451, '4.7.0 A message with this X-Idempotency-Key is still being processed'),
  'over-quota': new ReplyError(452, '4.7.1 The monthly quota of the plan is used up'),
}

function toReplyError({ log }: SubmissionContext, error: unknown): ReplyError {
  if (error instanceof ReplyError) return error
  const isAway = isDatabaseAway(error)
  log[isAway ? 'warn' : 'error']({ err: error }, 'failed to accept a message')
  return new ReplyError(
    451,
    isAway ? '4.3.0 The message cannot be stored now, try again later' : '4.3.0 Internal error, try again later',
  )
}
