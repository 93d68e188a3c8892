/**
 * Turns a complete message into a submission that is ready to store, by SMTP and by HTTP alike: checks its authors,
 * renders its template, and adds the fields that the server adds. Writes nothing.
 */
import { createHash } from 'node:crypto'
import type { Mailbox } from '#src/mail/address.ts'
import type { Submission, SubmittedEnvelope, SubmittedRecipient } from '#src/messages/submission.ts'
import type { Context } from '#src/context.ts'
import { hexOf, newId } from '#src/platform/id.ts'
import type { Renderer } from '#src/templates/renderer.ts'
import type { SubmissionSender } from './sender.ts'
import { SubmissionError } from './submission-error.ts'
import { buildSubmittedMessage, type SubmittedMessage } from './submitted-message.ts'
import { renderTemplateMessage } from './template.ts'

/** What the Received field says of this server. */
export interface Receipt {
  /** Name of this server. */
  readonly by: string
  readonly id: string
  readonly at: Date
}

/** A complete message with its envelope. */
export interface SubmittedTransaction {
  readonly sender: SubmissionSender
  readonly message: SubmittedMessage
  readonly recipients: readonly SubmittedRecipient[]
  readonly envelope: SubmittedEnvelope
  /** Recipients per month in the plan; null = unlimited. */
  readonly quota: number | null
  /** Returns the complete Received field. */
  readonly receivedField: (receipt: Receipt) => string
  readonly times?: Pick<Submission, 'scheduledAt' | 'timezone' | 'expiresAt'>
}

type PrepareContext = Pick<Context, 'db' | 'clock' | 'config'> & { readonly renderer: Renderer }

const NO_TIMES = { scheduledAt: null, timezone: null, expiresAt: null }

/** @throws SubmissionError. */
export async function prepareSubmission(ctx: PrepareContext, transaction: SubmittedTransaction): Promise<Submission> {
  const { sender, message, recipients, envelope, quota, times = NO_TIMES } = transaction
  const domainId = await authorizeAuthors(sender, message.authors)
  const now = ctx.clock.now()
  const id = newId(now)
  const {
    options,
    to,
    cc,
    authors: [from],
  } = message
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
    ...(await contentOf(ctx, transaction)),
    attachments: [],
    tags: options.tags,
    metadata: options.metadata,
    trackOpens: options.trackOpens,
    trackClicks: options.trackClicks,
    ...times,
    createdAt: new Date(now),
    quota,
    idempotency: null,
    smtp: { raw: options.templateId === null ? buildRaw(ctx, transaction, { id, now }) : null, envelope },
  }
}

/** Checks every author. Returns the domain that signs: the first author's. */
async function authorizeAuthors(sender: SubmissionSender, authors: readonly Mailbox[]): Promise<string | null> {
  let signing: string | null = null
  for (const { email } of authors) {
    const verdict = await sender.authorizeFrom(email)
    if (!verdict.ok) throw new SubmissionError('forbidden', verdict.reason)
    signing ??= verdict.domainId
  }
  return signing
}

type MessageContent = Pick<Submission, 'subject' | 'html' | 'text' | 'headers' | 'template'>

/** Nothing but the subject, which is displayed; with X-Template-Id, the rendered template. */
async function contentOf(ctx: PrepareContext, { sender, message }: SubmittedTransaction): Promise<MessageContent> {
  if (message.options.templateId !== null) return renderTemplateMessage(ctx, sender.workspaceId, message)
  return { subject: message.subject, html: null, text: null, headers: [] }
}

interface Acceptance {
  readonly id: string
  readonly now: number
}

/** The client's octets with the fields that the server adds. */
function buildRaw(
  { config }: PrepareContext,
  { message, receivedField }: SubmittedTransaction,
  { id, now }: Acceptance,
): Buffer {
  const at = new Date(now)
  const [{ email }] = message.authors
  return buildSubmittedMessage(message, {
    received: receivedField({ by: config.serverName, id: hexOf(id), at }),
    date: at.toUTCString().replace('GMT', '+0000'),
    messageId: `<${hexOf(id)}@${email.slice(email.lastIndexOf('@') + 1)}>`,
  })
}

/** Fields that a client writes anew when it repeats a message. */
const VOLATILE_FIELDS: ReadonlySet<string> = new Set(['date', 'message-id', 'received'])

/** Digest that tells whether two messages with one idempotency key are the same. */
export function digestOfMessage(
  { fields, body }: Pick<SubmittedMessage, 'fields' | 'body'>,
  recipients: readonly SubmittedRecipient[],
): Buffer {
  return createHash('sha256')
    .update(`smtp\n${addressesOf(recipients)}\n\n`)
    .update(stableHead(fields), 'latin1')
    .update(body)
    .digest()
}

/**
 * The same of a message by HTTP, whose body was hashed before. It differs, because the reply to a message by SMTP is no
 * response to one by HTTP.
 */
export function digestOfHashed(
  fields: SubmittedMessage['fields'],
  bodyHash: Buffer,
  recipients: readonly SubmittedRecipient[],
): Buffer {
  return createHash('sha256')
    .update(`http\n${addressesOf(recipients)}\n\n`)
    .update(stableHead(fields), 'latin1')
    .update(bodyHash)
    .digest()
}

function stableHead(fields: SubmittedMessage['fields']): string {
  return fields
    .filter(({ name }) => !VOLATILE_FIELDS.has(name))
    .map(({ line }) => line)
    .join('')
}

function addressesOf(recipients: readonly SubmittedRecipient[]): string {
  return recipients
    .map(({ address }) => address)
    .toSorted()
    .join('\n')
}
