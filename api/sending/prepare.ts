/**
 * Turns a canonical body into a submission that is ready to store. Checks sender, recipients, limits, time and
 * template, in this order, and returns the first failure. Writes nothing.
 */
import type { Caller } from '#src/auth/keys.ts'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { newId } from '#src/platform/id.ts'
import type { Mailbox } from '#src/mail/address.ts'
import type { SubmittedRecipient, Submission } from '#src/messages/submission.ts'
import type { Tier } from '#src/queue/tiers.ts'
import { isRefusal } from '#api/http/response.ts'
import { planOf, type ApiContext } from '#api/http/context.ts'
import type { SendBody } from './body.ts'
import { defaultSender, destinationFor, checkSender } from './sender.ts'
import { renderContent, type RenderedContent } from './template.ts'

/** A message to send, with its tier and time. */
export interface SendRequest {
  readonly body: SendBody
  readonly tier: Tier
  readonly scheduledAt: Date | null
  readonly timezone: string | null
}

export async function prepare(ctx: ApiContext, caller: Caller, request: SendRequest): Promise<Submission | Refusal> {
  const { body } = request
  const recipients = listRecipients(caller, body)
  const refusal =
    checkSender(caller, body.from) ??
    validateCount(ctx, recipients) ??
    validateScheduledTime(ctx, request) ??
    validateExpiry(ctx, request) ??
    validateReplyTo(caller, body)
  if (refusal !== null) return refusal
  const content = await renderContent(ctx, caller.workspaceId, body)
  if (isRefusal(content)) return content
  return validateSize(ctx, body, content) ?? createSubmission(ctx, caller, request, { recipients, content })
}

/** Each address once, whatever its case, in the first of to, cc and bcc that names it. */
function listRecipients(caller: Caller, { to, cc, bcc }: SendBody): SubmittedRecipient[] {
  const found = new Map<string, SubmittedRecipient>()
  for (const [kind, list] of [
    ['to', to],
    ['cc', cc],
    ['bcc', bcc],
  ] as const)
    for (const { email } of list)
      if (!found.has(email.toLowerCase()))
        found.set(email.toLowerCase(), { address: email, domain: destinationFor(caller, email), kind })
  return [...found.values()]
}

function validateCount(ctx: ApiContext, recipients: readonly SubmittedRecipient[]): Refusal | null {
  const max = ctx.config.maxRecipients
  return recipients.length <= max
    ? null
    : invalid([
        { path: 'to', message: `to, cc and bcc have ${recipients.length} recipients; at most ${max} in one message` },
      ])
}

const MINUTE_MS = 60 * 1000
const DAY_MS = 24 * 3600 * 1000
/** Clients compute "one minute from now" before they send, often rounded down to a second. */
const GRACE_MS = 1000

function validateScheduledTime(ctx: ApiContext, { scheduledAt }: SendRequest): Refusal | null {
  if (scheduledAt === null) return null
  const ahead = scheduledAt.getTime() - ctx.clock.now()
  if (ahead < MINUTE_MS - GRACE_MS)
    return invalid([{ path: 'scheduled_at', message: 'must be at least 1 minute ahead' }])
  return ahead > 365 * DAY_MS ? invalid([{ path: 'scheduled_at', message: 'must be at most 365 days ahead' }]) : null
}

function validateExpiry(ctx: ApiContext, { body, scheduledAt }: SendRequest): Refusal | null {
  if (body.expiresAt === null || body.expiresAt.getTime() > Math.max(ctx.clock.now(), scheduledAt?.getTime() ?? 0))
    return null
  return invalid([
    {
      path: 'expires_at',
      message: scheduledAt === null ? 'must be in the future' : 'must be after the scheduled time',
    },
  ])
}

function validateReplyTo(caller: Caller, { replyTo }: SendBody): Refusal | null {
  return replyTo !== 'tracking' || caller.replyTo !== null
    ? null
    : invalid([{ path: 'reply_to', message: 'the workspace has no reply-to address in its tracking settings' }])
}

function validateSize(ctx: ApiContext, { attachments }: SendBody, { html, text }: RenderedContent): Refusal | null {
  const max = ctx.config.maxMessageBytes
  const bytes =
    Buffer.byteLength(html ?? '') +
    Buffer.byteLength(text ?? '') +
    attachments.reduce((sum, { content }) => sum + content.length, 0)
  return bytes <= max ? null : refuse('PAYLOAD_TOO_LARGE', `The message has ${bytes} bytes; at most ${max}.`)
}

function createSubmission(
  ctx: ApiContext,
  caller: Caller,
  { body, tier, scheduledAt, timezone }: SendRequest,
  resolved: { recipients: SubmittedRecipient[]; content: RenderedContent },
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
    attachments: body.attachments,
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

/** The headers To and Cc, also with each address once. */
function uniqueHeaderLists(
  { to, cc }: SendBody,
  recipients: readonly SubmittedRecipient[],
): { to: Mailbox[]; cc: Mailbox[] } {
  const keepFirst = (list: readonly Mailbox[], kind: SubmittedRecipient['kind']): Mailbox[] => {
    const remaining = new Set(recipients.filter((one) => one.kind === kind).map((one) => one.address.toLowerCase()))
    return list.filter(({ email }) => remaining.delete(email.toLowerCase()))
  }
  return { to: keepFirst(to, 'to'), cc: keepFirst(cc, 'cc') }
}

function replyToOf(caller: Caller, { replyTo }: SendBody): Mailbox | null {
  if (replyTo !== 'tracking') return replyTo
  return caller.replyTo === null ? null : { email: caller.replyTo, name: null }
}
