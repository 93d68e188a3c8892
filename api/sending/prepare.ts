/**
 * Turns a canonical body into a submission that is ready to store. Checks sender, recipients, limits, time and
 * template, then fetches attachments that are URLs, in this order, and returns the first failure. Writes nothing.
 *
 * A Regular key is bound to one sender: a verified domain or a connected account. A subdomain has its own records and
 * owner, so a key of the parent domain does not cover it. A domain that lost its records (degraded) still sends. An
 * account sends for its own addresses; with an OAuth mailbox, From defaults to the mailbox. Mail of a paused account is
 * accepted and waits.
 */
import type { Caller, CallerAccount } from '#src/auth/keys.ts'
import type { RequestDownloads } from '#src/net/file-downloads.ts'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { newId } from '#src/platform/id.ts'
import type { Mailbox } from '#src/mail/address.ts'
import type {
  Attachment,
  BodyText,
  SubmittedRecipient,
  Submission,
  TemplateReference,
} from '#src/messages/submission.ts'
import { listRecipients, uniqueHeaderLists } from '#src/messages/recipient-lists.ts'
import { destinationOf } from '#src/providers/account-destination.ts'
import type { Tier } from '#src/queue/tiers.ts'
import { findTemplateVersion, type CompiledTemplateVersion } from '#src/templates/versions.ts'
import { isRefusal } from '#api/http/response.ts'
import { planOf, type ApiContext } from '#api/http/context.ts'
import type { MessageContent, SendBody } from './body.ts'
import { loadAttachments } from './load-attachments.ts'
import { countText } from '#src/platform/plural.ts'

/** A message to send, with its tier and time. */
export interface SendRequest {
  readonly body: SendBody
  readonly tier: Tier
  readonly scheduledAt: Date | null
  readonly timezone: string | null
}

export async function prepare(
  ctx: ApiContext,
  caller: Caller,
  request: SendRequest,
  downloads: RequestDownloads,
): Promise<Submission | Refusal> {
  const { body } = request
  const recipients = listRecipients(body, (address) => destinationFor(caller, address))
  const refusal =
    checkSender(caller, body.from) ??
    validateCount(ctx, recipients) ??
    validateScheduledTime(ctx, request) ??
    validateExpiry(ctx, { expiresAt: body.expiresAt, scheduledAt: request.scheduledAt }) ??
    validateReplyTo(caller, body)
  if (refusal !== null) return refusal
  const content = await renderContent(ctx, caller.workspaceId, body)
  if (isRefusal(content)) return content
  const attachments = await loadAttachments(body.attachments, downloads, ctx.config.maxMessageBytes)
  if (isRefusal(attachments)) return attachments
  const resolved = { recipients, content, attachments }
  return validateSize(ctx, resolved) ?? createSubmission(ctx, caller, request, resolved)
}

export function validateCount(ctx: ApiContext, recipients: readonly SubmittedRecipient[]): Refusal | null {
  const max = ctx.config.maxRecipients
  return recipients.length <= max
    ? null
    : invalid([
        {
          path: 'to',
          message: `to, cc and bcc have ${countText(recipients.length, 'recipient')}; at most ${max} in one message`,
        },
      ])
}

const MINUTE_MS = 60 * 1000
const DAY_MS = 24 * 3600 * 1000
/** Clients compute "one minute from now" before they send, often rounded down to a second. */
const GRACE_MS = 1000

export function validateScheduledTime(
  ctx: ApiContext,
  { scheduledAt }: Pick<SendRequest, 'scheduledAt'>,
): Refusal | null {
  if (scheduledAt === null) return null
  const ahead = scheduledAt.getTime() - ctx.clock.now()
  if (ahead < MINUTE_MS - GRACE_MS)
    return invalid([{ path: 'scheduled_at', message: 'must be at least 1 minute ahead' }])
  return ahead > 365 * DAY_MS ? invalid([{ path: 'scheduled_at', message: 'must be at most 365 days ahead' }]) : null
}

export function validateExpiry(
  ctx: ApiContext,
  { expiresAt, scheduledAt }: Pick<Submission, 'expiresAt' | 'scheduledAt'>,
): Refusal | null {
  if (expiresAt === null || expiresAt.getTime() > Math.max(ctx.clock.now(), scheduledAt?.getTime() ?? 0)) return null
  return invalid([
    {
      path: 'expires_at',
      message: scheduledAt === null ? 'must be in the future' : 'must be after the scheduled time',
    },
  ])
}

export function validateReplyTo(caller: Caller, { replyTo }: Pick<SendBody, 'replyTo'>): Refusal | null {
  return replyTo !== 'tracking' || caller.replyTo !== null
    ? null
    : invalid([{ path: 'reply_to', message: 'the workspace has no reply-to address in its tracking settings' }])
}

/** What a body leads to. */
interface ResolvedBody {
  readonly recipients: readonly SubmittedRecipient[]
  readonly content: RenderedContent
  readonly attachments: readonly Attachment[]
}

function validateSize(
  ctx: ApiContext,
  { attachments, content: { html, text } }: Pick<ResolvedBody, 'attachments' | 'content'>,
): Refusal | null {
  const max = ctx.config.maxMessageBytes
  const bytes =
    Buffer.byteLength(html ?? '') +
    Buffer.byteLength(text ?? '') +
    attachments.reduce((sum, { content }) => sum + content.length, 0)
  return bytes <= max
    ? null
    : refuse('PAYLOAD_TOO_LARGE', `The message has ${bytes} bytes; at most ${max}. Send links instead of large files.`)
}

function createSubmission(
  ctx: ApiContext,
  caller: Caller,
  { body, tier, scheduledAt, timezone }: SendRequest,
  resolved: ResolvedBody,
): Submission {
  const now = ctx.clock.now()
  const headerLists = uniqueHeaderLists(body, resolved.recipients)
  return {
    id: newId(now),
    workspaceId: caller.workspaceId,
    apiKeyId: caller.keyId,
    domainId: caller.domainId,
    tier,
    from: body.from ?? defaultSender(caller) ?? { email: '', name: null },
    replyTo: replyToOf(caller, body),
    ...headerLists,
    recipients: resolved.recipients,
    ...resolved.content,
    headers: body.headers,
    attachments: resolved.attachments,
    tags: body.tags,
    metadata: body.metadata,
    trackOpens: body.trackOpens,
    trackClicks: body.trackClicks,
    scheduledAt,
    timezone,
    expiresAt: body.expiresAt,
    createdAt: new Date(now),
    quota: planOf(ctx, caller.plan).monthlyQuota,
    idempotency: null,
  }
}

export function replyToOf(caller: Caller, { replyTo }: Pick<SendBody, 'replyTo'>): Mailbox | null {
  if (replyTo !== 'tracking') return replyTo
  return caller.replyTo === null ? null : { email: caller.replyTo, name: null }
}

const SENDING_STATUSES = new Set(['verified', 'degraded'])

/** Null if the caller may send from this address. */
export function checkSender(caller: Caller, from: Mailbox | null): Refusal | null {
  return caller.account === null ? checkDomain(caller, from) : checkAccountAddress(caller.account, from)
}

function checkDomain({ domain, domainId, domainStatus }: Caller, from: Mailbox | null): Refusal | null {
  if (from === null) return invalid([{ path: 'from', message: 'is required with a key of a sending domain' }])
  if (domain === null || domainId === null)
    return refuse('FORBIDDEN', 'This key is not bound to a sender. Create a key for a domain or an account.')
  if (domainOf(from.email) !== domain)
    return refuse('FORBIDDEN', `This key sends for ${domain} only. Use that domain in "from", or a key of another one.`)
  return SENDING_STATUSES.has(domainStatus ?? '')
    ? null
    : refuse('FORBIDDEN', `The domain ${domain} is not verified. Publish its records and call verify-domain.`)
}

function checkAccountAddress({ kind, addresses }: CallerAccount, from: Mailbox | null): Refusal | null {
  if (from === null)
    return kind === 'oauth' ? null : invalid([{ path: 'from', message: 'is required with a key of SMTP credentials' }])
  return addresses.includes(from.email.toLowerCase())
    ? null
    : refuse('FORBIDDEN', `This key sends for ${addresses.join(', ')} only. Use one of them in "from".`)
}

/** The From of mail without one: the mailbox of the key. */
function defaultSender({ account }: Caller): Mailbox | null {
  return account?.kind === 'oauth' ? { email: account.addresses[0] ?? '', name: null } : null
}

/** The destination of mail to an address: its domain, or the account of the key. */
export function destinationFor({ account }: Caller, address: string): string {
  return account === null ? domainOf(address) : destinationOf(account.id)
}

/** The lower-case domain of an address that src/mail/address.ts has parsed. */
function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1)
}

export interface RenderedContent {
  readonly subject: string
  readonly html: BodyText | null
  readonly text: BodyText | null
  readonly template?: TemplateReference
}

const MAX_SUBJECT = 998

/** The subject and parts, given or rendered from a stored template. Template errors are INVALID_TEMPLATE. */
export async function renderContent(
  ctx: ApiContext,
  workspaceId: string,
  body: MessageContent,
): Promise<RenderedContent | Refusal> {
  const { templateId, subject, html, text } = body
  if (templateId === null)
    return { subject: subject ?? '', html, text, ...(body.template === undefined ? {} : { template: body.template }) }
  const template = await findTemplateVersion(ctx.db, workspaceId, templateId, null)
  if (template === null)
    return refuse('INVALID_TEMPLATE', 'No template with this template_id exists. List them with list-templates.')
  const rendered = await ctx.renderer.render({ template: overrideKind(template, body.isHtml), params: body.params })
  if (!rendered.ok) return refuse('INVALID_TEMPLATE', `The template cannot be rendered: ${rendered.reason}`)
  const line = subject ?? oneLine(rendered.subject)
  if (line === '' || line.length > MAX_SUBJECT)
    return refuse(
      'INVALID_TEMPLATE',
      `The rendered subject must have 1 to ${MAX_SUBJECT} characters. Correct it or its params.`,
    )
  return {
    subject: line,
    html: rendered.html,
    text: rendered.text,
    template: { id: template.id, version: template.version },
  }
}

/** `is_html` overrides the kind of the template's body. */
function overrideKind(template: CompiledTemplateVersion, asHtml: boolean | null): CompiledTemplateVersion {
  if (asHtml === null || asHtml === (template.html !== null)) return template
  return asHtml ? { ...template, html: template.text, text: null } : { ...template, html: null, text: template.html }
}

/** A variable in a subject must not add a line break. */
function oneLine(subject: string): string {
  return subject.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim()
}
