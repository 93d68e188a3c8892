/**
 * Resolves a change to a scheduled message with the checks of a send: sender, recipients, time, template, attachments
 * and size. What depends on the message as it is then, `changeScheduled` checks in its transaction. Writes nothing.
 */
import type { Caller } from '#src/auth/keys.ts'
import type { ChangedAddressing, ScheduledChange } from '#src/messages/change-scheduled.ts'
import type { ScheduledView } from '#src/messages/scheduled-messages.ts'
import type { ChangedFields } from '#src/messages/write-scheduled.ts'
import type { RequestDownloads } from '#src/net/file-downloads.ts'
import { invalid, type Refusal } from '#src/platform/errors.ts'
import { parseTime } from '#src/platform/time-input.ts'
import { planOf, type ApiContext } from '#api/http/context.ts'
import { isRefusal } from '#api/http/response.ts'
import type { ChangeBody } from './change-body.ts'
import { loadAttachments } from './load-attachments.ts'
import {
  checkSender,
  destinationFor,
  renderContent,
  replyToOf,
  validateReplyTo,
  validateScheduledTime,
} from './prepare.ts'

export interface ChangeRequest {
  readonly caller: Caller
  readonly body: ChangeBody
  /** The message as it is. */
  readonly present: ScheduledView
  readonly downloads: RequestDownloads
}

export async function prepareChange(ctx: ApiContext, request: ChangeRequest): Promise<ScheduledChange | Refusal> {
  const { caller, body, present } = request
  const times = readTimes(ctx, body, present)
  if (isRefusal(times)) return times
  const addressing = readAddressing(ctx, request)
  // also for a change of the text: with a key of another sender, a message could otherwise say anything in its name,
  // or be taken over with its recipients
  const refusal = checkSender(caller, present.from) ?? checkSender(caller, addressing?.newFrom ?? present.from)
  const replyToRefusal = validateReplyTo(caller, { replyTo: body.replyTo === 'none' ? null : body.replyTo })
  if (refusal !== null || replyToRefusal !== null) return refusal ?? replyToRefusal ?? invalid([])
  const content = await renderChanged(ctx, caller.workspaceId, request)
  if (isRefusal(content)) return content
  const { maxMessageBytes: maxBytes } = ctx.config
  const attachments = body.attachments && (await loadAttachments(body.attachments, request.downloads, maxBytes))
  if (attachments !== null && isRefusal(attachments)) return attachments
  const fields = { ...times, ...content, ...readOptions(caller, body) }
  return { from: present.from.email, fields, attachments, addressing, maxBytes }
}

/** Whether a change names nothing. */
export function isEmptyChange({ fields, attachments, addressing }: ScheduledChange): boolean {
  return Object.keys(fields).length === 0 && attachments === null && addressing === null
}

function readTimes(ctx: ApiContext, { at, timezone }: ChangeBody, present: ScheduledView): ChangedFields | Refusal {
  const zone = timezone === null ? {} : { timezone }
  if (at === null) return zone
  const scheduledAt = parseTime(at, timezone ?? present.timezone)
  if (scheduledAt === null)
    return invalid([{ path: 'scheduled_at', message: 'must be YYYY-MM-DD_HH:MM:SS or ISO 8601' }])
  return validateScheduledTime(ctx, { scheduledAt }) ?? { ...zone, scheduled_at: scheduledAt }
}

/** Null if neither the sender nor a recipient is to change. */
function readAddressing(ctx: ApiContext, { caller, body, present }: ChangeRequest): ChangedAddressing | null {
  const { from, fromName, lists } = body
  const newFrom = from ?? (fromName === null ? null : { email: present.from.email, name: fromName })
  if (newFrom === null && Object.values(lists).every((list) => list === null)) return null
  return {
    newFrom,
    domainId: caller.domainId,
    apiKeyId: caller.keyId,
    lists,
    destinationFor: (address) => destinationFor(caller, address),
    maxRecipients: ctx.config.maxRecipients,
    quota: planOf(ctx, caller.plan).monthlyQuota,
  }
}

/** The new subject and body. A template that has a subject of its own changes it. */
async function renderChanged(
  ctx: ApiContext,
  workspaceId: string,
  { body: { content }, present }: ChangeRequest,
): Promise<ChangedFields | Refusal> {
  const { subject, html, text, templateId } = content
  if (html === null && text === null && templateId === null) return subject === null ? {} : { subject }
  const rendered = await renderContent(
    ctx,
    workspaceId,
    templateId === null ? { ...content, subject: subject ?? present.subject } : content,
  )
  if (isRefusal(rendered)) return rendered
  return {
    subject: rendered.subject,
    html: rendered.html?.toString() ?? null,
    body_text: rendered.text?.toString() ?? null,
    template: rendered.template ?? null,
  }
}

function readOptions(caller: Caller, body: ChangeBody): ChangedFields {
  const { tier, replyTo, headers, tags, metadata, trackOpens, trackClicks, expiresAt } = body
  return {
    ...(tier === null ? {} : { tier }),
    ...(replyTo === null ? {} : { reply_to: replyTo === 'none' ? null : replyToOf(caller, { replyTo }) }),
    ...(headers === null ? {} : { headers: headers.length > 0 ? headers : null }),
    ...(tags === null ? {} : { tags: tags.length > 0 ? [...tags] : null }),
    ...(metadata === null ? {} : { metadata }),
    ...(trackOpens === null ? {} : { track_opens: trackOpens }),
    ...(trackClicks === null ? {} : { track_clicks: trackClicks }),
    ...(expiresAt === null ? {} : { expires_at: expiresAt === 'never' ? null : expiresAt }),
  }
}
