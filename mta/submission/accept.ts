/**
 * One mail, from the last dot to its answer. The 250 names our id and comes after the commit, never before; a connection that is lost
 * before it leaves the client without an answer, it sends again, and X-Idempotency-Key is what makes one of the two. A Message-ID never
 * does: programs exist that use one for many mails.
 */
import { hash } from 'node:crypto'
import type { SMTPServerDataStream, SMTPServerSession } from 'smtp-server'
import { isDatabaseAway } from '#src/stores/db.ts'
import { hexOf, newId } from '#src/platform/id.ts'
import type { Accepted, Mailbox, Submission, SubmittedEnvelope } from '#src/messages/submission.ts'
import { notAllowed, Reply } from '#mta/smtp-server/reply.ts'
import { planOf, type SubmissionContext } from './context.ts'
import { addresseesOf, envelopeOf } from './envelope.ts'
import { type Letter, readLetter, writeLetter } from './submitted-message.ts'
import { judgeOctets, readOctets } from './message-bytes.ts'
import { receivedField } from './received.ts'
import type { Sender } from './sender.ts'
import { renderLetter } from './template.ts'

export interface Handed {
  readonly stream: SMTPServerDataStream
  readonly session: SMTPServerSession
  readonly sender: Sender
  readonly cutOff: () => void
}

/** Answers the text of the 250. @throws a Reply for every other end. */
export async function takeMail(ctx: SubmissionContext, handed: Handed): Promise<string> {
  const { octets, release } = await readOctets(handed.stream, {
    maxBytes: maxOctets(ctx.config),
    held: ctx.held,
    cutOff: handed.cutOff,
  })
  try {
    const wrong = judgeOctets(octets)
    if (wrong !== null) throw wrong
    const letter = readLetter(octets)
    const submission = await prepare(ctx, handed, letter)
    const answer = answerOf(await ctx.acceptor.accept(submission), idText(submission.id))
    const { id, from, recipients, tier } = submission
    const { remoteAddress: peer } = handed.session
    ctx.log.info({ id, from: from.email, recipients: recipients.length, tier, octets: octets.length, peer }, 'accepted')
    return answer
  } catch (error) {
    throw replyOf(ctx, error)
  } finally {
    release()
  }
}

/** base64 makes 4 of 3 and adds line ends; the rest is headers. */
const ENCODED_FACTOR = 1.4

/** What SIZE offers. */
export function maxOctets({ maxMessageBytes }: SubmissionContext['config']): number {
  return Math.ceil(maxMessageBytes * ENCODED_FACTOR) + 65_536
}

async function prepare(ctx: SubmissionContext, { session, sender }: Handed, letter: Letter): Promise<Submission> {
  const domainId = await judgeAuthors(sender, letter.authors)
  const {
    options,
    to,
    cc,
    authors: [from],
  } = letter
  const now = ctx.clock.now()
  const id = newId(now)
  const recipients = addresseesOf(session, letter, sender)
  const envelope = await envelopeOf(session, sender, recipients)
  const claim =
    options.idempotencyKey === null
      ? null
      : {
          key: options.idempotencyKey,
          bodyHash: digestOf(
            letter,
            recipients.map(({ address }) => address),
          ),
          answer: idText(id),
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
    ...(await contentOf(ctx, letter, { id, workspaceId: sender.workspaceId, session, envelope })),
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

/** In whose name: the domain that signs is the first author's. */
async function judgeAuthors(sender: Sender, authors: readonly Mailbox[]): Promise<string | null> {
  let signing: string | null = null
  for (const { email } of authors) {
    const verdict = await sender.judge(email)
    if (!verdict.ok) throw notAllowed(verdict.reason)
    signing ??= verdict.domainId
  }
  return signing
}

type Content = Pick<Submission, 'subject' | 'html' | 'text' | 'headers' | 'template' | 'smtp'>

/** The octets of the client; with X-Template-Id what the template makes, in a mail of ours. */
async function contentOf(
  ctx: SubmissionContext,
  letter: Letter,
  { id, workspaceId, session, envelope }: About,
): Promise<Content> {
  if (letter.options.templateId !== null)
    return { ...(await renderLetter(ctx, workspaceId, letter)), smtp: { raw: null, envelope } }
  const at = new Date(ctx.clock.now())
  const [{ email }] = letter.authors
  const stamp = {
    received: receivedField(session, { by: ctx.config.serverName, id: hexOf(id), at }),
    date: dateText(at),
    messageId: `<${hexOf(id)}@${email.slice(email.lastIndexOf('@') + 1)}>`,
  }
  return {
    subject: letter.subject,
    html: null,
    text: null,
    headers: [],
    smtp: { raw: writeLetter(letter, stamp), envelope },
  }
}

interface About {
  readonly id: string
  readonly workspaceId: string
  readonly session: SMTPServerSession
  readonly envelope: SubmittedEnvelope
}

function dateText(at: Date): string {
  return at.toUTCString().replace('GMT', '+0000')
}

/** Written anew for each try by a client that makes its mail again. */
const NEW_EACH_TIME: ReadonlySet<string> = new Set(['date', 'message-id', 'received'])

/** What makes two mails under one key the same. */
function digestOf({ fields, body }: Letter, recipients: readonly string[]): Buffer {
  const head = fields
    .filter(({ name }) => !NEW_EACH_TIME.has(name))
    .map(({ line }) => line)
    .join('')
  const top = Buffer.from(`smtp\n${recipients.toSorted().join('\n')}\n\n`)
  return hash('sha256', Buffer.concat([top, Buffer.from(head, 'latin1'), body]), 'buffer')
}

function idText(id: string): string {
  return `2.0.0 queued as em_${hexOf(id)}`
}

function answerOf(accepted: Accepted, text: string): string {
  if (accepted.kind === 'stored') return text
  if (accepted.kind === 'replayed') return accepted.answer
  throw NOT_ACCEPTED[accepted.kind]
}

const NOT_ACCEPTED: Readonly<Record<Exclude<Accepted['kind'], 'stored' | 'replayed'>, Reply>> = {
  mismatch: new Reply(554, '5.6.0 This X-Idempotency-Key was used with another mail'),
  'in-progress': new Reply(451, '4.7.0 A mail with this X-Idempotency-Key is still under way'),
  'over-quota': new Reply(452, '4.7.1 The monthly quota of the plan is reached'),
}

function replyOf({ log }: SubmissionContext, error: unknown): Reply {
  if (error instanceof Reply) return error
  const isAway = isDatabaseAway(error)
  log[isAway ? 'warn' : 'error']({ err: error }, 'a mail could not be accepted')
  return new Reply(451, isAway ? '4.3.0 It cannot be stored now, come again' : '4.3.0 A fault on our side, come again')
}
