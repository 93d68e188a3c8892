/**
 * Received emails: list, get, download, delete them, and send their webhook again. Links to files work without a key
 * until they expire. The content comes from strangers: it is returned as JSON or as a download, never as a page. Mail
 * of another workspace is not found.
 */
import { z } from 'zod'
import { refuse, type Refusal } from '#src/platform/errors.ts'
import { hexOf, isUuid, timeOf } from '#src/platform/id.ts'
import { countText } from '#src/platform/plural.ts'
import { FORWARD_RESULTS, type ForwardResult } from '#src/inbound-mail/forwarding.ts'
import { readFileToken } from '#src/inbound-mail/file-links.ts'
import {
  deleteReceived,
  findAttachment,
  findReceived,
  findSource,
  listReceived,
  RECEIVED_STATES,
  replayReceived,
  type ReceivedEmail,
  type ReceivedFile,
} from '#src/inbound-mail/received-emails.ts'
import { mapPage } from '#src/stores/page.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { pageData, paging } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { route, type AnyRoute, type ApiResponse } from '#api/http/route.ts'
import { envelope, pagedList, plainResponse, timestamp } from '#api/http/response-schemas.ts'
import { receivedContent, spamVerdict } from './inbound-content.ts'

const ACCESS = { admin: 'inbound:manage' } as const
const NO_EMAIL = refuse('NOT_FOUND', 'There is no such received email. List them with list-received-emails.')
const NO_FILE = refuse(
  'NOT_FOUND',
  'This link is not valid, has expired, or its email was deleted. Get the email again.',
)
const NOT_PROCESSED = refuse('CONFLICT', 'The email is not processed yet. Try again in a moment.')
const byId = z.object({ id: z.string().meta({ description: 'the id of the received email' }) })

const FORWARD_KEYS = Object.keys(FORWARD_RESULTS) as [ForwardResult, ...ForwardResult[]]
const FORWARD_TEXT = Object.entries(FORWARD_RESULTS)
  .map(([name, meaning]) => `${name}: ${meaning}`)
  .join('; ')

const summaryFields = {
  id: z.uuid(),
  route_id: z.uuid().meta({ description: 'the inbound route that accepted it; it may be deleted' }),
  recipient: z.string().meta({ description: 'the address of yours that it was sent to' }),
  mail_from: z.string().meta({ description: 'the envelope sender; empty: a bounce or an automatic reply' }),
  from_address: z.string().nullable().meta({ description: 'the address of the From field; null: none' }),
  subject: z.string().nullable().meta({ description: 'the subject; null: none' }),
  size: z.int().meta({ description: 'bytes' }),
  state: z.enum(RECEIVED_STATES).meta({ description: 'received: it is parsed in a moment; unreadable: it cannot be' }),
  spam_verdict: spamVerdict.nullable().meta({ description: 'null until it is processed' }),
  forward_result: z
    .enum(FORWARD_KEYS)
    .nullable()
    .meta({ description: `null: its route forwards nothing; ${FORWARD_TEXT}` }),
  forward_email_id: z
    .string()
    .nullable()
    .meta({ description: 'the message that forwards it, for get-email; null: there is none' }),
  received_at: timestamp.meta({ description: 'when it was accepted' }),
}
const summarySchema = z.object(summaryFields).meta({ id: 'ReceivedEmailSummary' })
const emailSchema = z
  .object({
    ...summaryFields,
    content: receivedContent.nullable().meta({ description: 'what was found in it; null until it is processed' }),
  })
  .meta({ id: 'ReceivedEmail' })

const list = route({
  name: 'list-received-emails',
  summary: 'List the emails that inbound routes received, newest first',
  method: 'GET',
  paths: ['/public/inbound/emails'],
  access: ACCESS,
  query: paging.extend({
    route_id: z.uuid('must be the id of an inbound route').optional().meta({ description: 'only those of this route' }),
    spam_verdict: spamVerdict.optional(),
  }),
  status: 200,
  response: pagedList('emails', summarySchema),
  errors: [],
  handle: async (ctx, request) => {
    const page = openPage(ctx, 'list-received-emails', request)
    if (isRefusal(page)) return page
    const { route_id: routeId = null, spam_verdict: verdict = null } = request.query
    const filter = { ...page, routeId, spamVerdict: verdict }
    const found = await listReceived(ctx.db, request.caller.workspaceId, filter)
    const data = pageData('emails', mapPage(found, presentSummary), page)
    return { body: { success: true, message: `${countText(found.total, 'received email')}.`, data } }
  },
})

const get = route({
  name: 'get-received-email',
  summary: 'Get a received email: its parts, attachments, authentication and spam verdict',
  method: 'GET',
  paths: ['/public/inbound/emails/:id'],
  access: ACCESS,
  params: byId,
  status: 200,
  response: envelope(emailSchema),
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const found = isUuid(params.id) ? await findReceived(ctx.db, caller.workspaceId, params.id) : null
    if (found === null) return NO_EMAIL
    const data = { ...presentSummary(found), content: found.content }
    return { body: { success: true, message: 'Received email found.', data } }
  },
})

const source = route({
  name: 'get-received-email-source',
  summary: 'Download a received email, byte for byte',
  method: 'GET',
  paths: ['/public/inbound/emails/:id/source'],
  access: ACCESS,
  params: byId,
  status: 200,
  produces: ['message/rfc822'],
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const file = isUuid(params.id) ? await findSource(ctx.db, caller.workspaceId, params.id) : null
    return file === null ? NO_EMAIL : download(file, 'message/rfc822')
  },
})

const replay = route({
  name: 'replay-received-email',
  summary: 'Send the webhook of a received email again, as a new event to all endpoints of now',
  method: 'POST',
  paths: ['/public/inbound/emails/:id/replay'],
  access: ACCESS,
  params: byId,
  status: 200,
  response: plainResponse,
  errors: ['NOT_FOUND', 'CONFLICT'],
  handle: async (ctx, { caller, params }): Promise<ApiResponse | Refusal> => {
    const result = isUuid(params.id) ? await replayReceived(ctx, caller.workspaceId, params.id) : 'not-found'
    if (result === 'not-found') return NO_EMAIL
    if (result === 'not-processed') return NOT_PROCESSED
    return { body: { success: true, message: 'The event email.received is queued again.' } }
  },
})

const remove = route({
  name: 'delete-received-email',
  summary: 'Delete a received email with its attachments; webhooks that wait are sent without its content',
  method: 'DELETE',
  paths: ['/public/inbound/emails/:id'],
  access: ACCESS,
  params: byId,
  status: 204,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) =>
    isUuid(params.id) && (await deleteReceived(ctx.db, caller.workspaceId, params.id)) ? {} : NO_EMAIL,
})

const openFile = route({
  name: 'get-received-file',
  summary: 'Download an attachment or the source of a received email, by a link of its webhook',
  method: 'GET',
  paths: ['/inbound-files/:token'],
  atRoot: true,
  access: 'public',
  params: z.object({ token: z.string().max(100, 'is too long').meta({ description: 'of the link' }) }),
  status: 200,
  produces: ['application/octet-stream'],
  errors: ['NOT_FOUND'],
  handle: async (ctx, { params }) => {
    const ref = readFileToken(ctx.encryption, params.token)
    if (ref === null || ref.expiresAt.getTime() <= ctx.clock.now()) return NO_FILE
    const file =
      ref.n === 0 ? await findSource(ctx.db, null, ref.emailId) : await findAttachment(ctx.db, ref.emailId, ref.n)
    return file === null ? NO_FILE : download(file, 'application/octet-stream')
  },
})

export const INBOUND_EMAIL_ROUTES: readonly AnyRoute[] = [list, get, source, replay, remove, openFile]

/** The type that the sender gave is not used: a browser must not show the file as a page of this server. */
function download({ filename, content }: ReceivedFile, type: string): ApiResponse {
  const name = encodeURIComponent(filename ?? 'attachment').replace(
    /['()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16)}`,
  )
  return {
    body: content,
    type,
    headers: {
      'Content-Disposition': `attachment; filename*=UTF-8''${name}`,
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'private, no-store',
    },
  }
}

function presentSummary(email: ReceivedEmail): Record<string, unknown> {
  return {
    id: email.id,
    route_id: email.routeId,
    recipient: email.recipient,
    mail_from: email.mailFrom,
    from_address: email.fromAddress === '' ? null : email.fromAddress,
    subject: email.subject,
    size: email.size,
    state: email.state,
    spam_verdict: email.spamVerdict,
    forward_result: email.forwardResult,
    forward_email_id: email.forwardMessageId === null ? null : `em_${hexOf(email.forwardMessageId)}`,
    received_at: new Date(timeOf(email.id)).toISOString(),
  }
}
