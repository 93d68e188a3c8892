/**
 * Captured mail: what a workspace sent to the capture domain, or to anyone in sandbox mode, as the built-in
 * receiver stored it. List, get, download and delete it. It is stored for seven days. Mail of another workspace is
 * not found. The content comes from the sender: it is returned as JSON or as a download, never as a page.
 */
import { Readable } from 'node:stream'
import { z } from 'zod'
import { refuse } from '#src/platform/errors.ts'
import { hexOf, isUuid } from '#src/platform/id.ts'
import { findCaptured, deleteCaptured, listCaptured, type CapturedEntry, type InboxMail } from '#src/sandbox/inbox.ts'
import type { ApiContext } from '#api/http/context.ts'
import { mapPage } from '#src/stores/page.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { pageData, paging } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { envelope, timestamp, pagedList } from '#api/http/response-schemas.ts'
import { MAX_PARSED_BYTES, presentParts } from './parsed-message.ts'
import { countText } from '#src/platform/plural.ts'

const summaryFields = {
  id: z.uuid(),
  received_at: timestamp,
  mail_from: z.string(),
  recipient: z.string(),
  from: z.string().nullable(),
  subject: z.string().nullable(),
  email_id: z.string().nullable(),
  tls: z.string().nullable(),
  size: z.int().meta({ description: 'bytes' }),
  dkim: z.array(
    z.object({
      domain: z.string(),
      selector: z.string(),
      algorithm: z.string(),
      result: z.string(),
      comment: z.string().nullable(),
    }),
  ),
}
const capturedSummarySchema = z.object(summaryFields).meta({ id: 'CapturedEmail' })
const capturedEmailSchema = z.object({
  ...summaryFields,
  headers: z.string(),
  text: z.string().nullable(),
  html: z.string().nullable(),
  attachments: z
    .array(z.object({ filename: z.string().nullable(), content_type: z.string(), size: z.int() }))
    .nullable()
    .meta({
      description: `null, like text and html, for messages above ${MAX_PARSED_BYTES / 1024} KB: download them`,
    }),
})
const byId = z.object({ id: z.string() })
const deletedResponse = envelope(z.object({ deleted: z.int() }))
const NO_CAPTURED_EMAIL = refuse(
  'NOT_FOUND',
  'There is no such captured email. List them with get-captured-emails; they are stored for seven days.',
)

const list = route({
  name: 'get-captured-emails',
  summary: 'List the emails that were captured instead of delivered, newest first',
  description:
    'Mail to the capture domain (see `capture` of the workspace) is processed like any other, but delivered to ' +
    'a built-in receiver. It ends in the state `captured` and is stored for seven days. The local part of the ' +
    'address may request another outcome.',
  method: 'GET',
  paths: ['/public/emails/captured'],
  access: 'any',
  query: paging.extend({
    search: z
      .string()
      .trim()
      .min(1, 'is empty')
      .max(998, 'is too long')
      .optional()
      .meta({ description: 'a part of the recipient, the From header or the subject; case does not matter' }),
  }),
  status: 200,
  response: pagedList('emails', capturedSummarySchema),
  errors: ['VALIDATION_ERROR'],
  handle: async (ctx, request) => {
    const { caller, query } = request
    const page = openPage(ctx, 'get-captured-emails', request)
    if (isRefusal(page)) return page
    const found = await listCaptured(ctx.db, caller.workspaceId, page, query.search ?? null)
    return {
      body: {
        success: true,
        message: `${countText(found.total, 'captured email')}.`,
        data: pageData('emails', mapPage(found, presentSummary), page),
      },
    }
  },
})

const get = route({
  name: 'get-captured-email',
  summary: 'Get a captured email: headers, text, HTML, signatures',
  method: 'GET',
  paths: ['/public/emails/captured/:id'],
  access: 'any',
  params: byId,
  status: 200,
  response: envelope(capturedEmailSchema),
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const mail = await findOwnCaptured(ctx, caller.workspaceId, params.id)
    return mail === null
      ? NO_CAPTURED_EMAIL
      : { body: { success: true, message: 'Captured email found.', data: await presentCapturedEmail(mail) } }
  },
})

const getRaw = route({
  name: 'get-captured-email-raw',
  summary: 'Download a captured email, byte for byte',
  method: 'GET',
  paths: ['/public/emails/captured/:id/raw'],
  access: 'any',
  params: byId,
  status: 200,
  produces: ['message/rfc822'],
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const mail = await findOwnCaptured(ctx, caller.workspaceId, params.id)
    if (mail === null) return NO_CAPTURED_EMAIL
    return {
      body: Readable.from([mail.raw]),
      type: 'message/rfc822',
      headers: { 'Content-Disposition': `attachment; filename="${mail.id}.eml"` },
    }
  },
})

const deleteOne = route({
  name: 'delete-captured-email',
  summary: 'Delete a captured email',
  method: 'DELETE',
  paths: ['/public/emails/captured/:id'],
  access: 'any',
  params: byId,
  status: 200,
  response: deletedResponse,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const deleted = isUuid(params.id) ? await deleteCaptured(ctx.db, caller.workspaceId, params.id) : 0
    return deleted === 0
      ? NO_CAPTURED_EMAIL
      : { body: { success: true, message: 'Captured email deleted.', data: { deleted } } }
  },
})

const deleteAll = route({
  name: 'delete-captured-emails',
  summary: 'Delete all captured emails',
  method: 'DELETE',
  paths: ['/public/emails/captured'],
  access: 'any',
  status: 200,
  response: deletedResponse,
  errors: [],
  handle: async (ctx, { caller }) => {
    const deleted = await deleteCaptured(ctx.db, caller.workspaceId, null)
    return { body: { success: true, message: `${countText(deleted, 'captured email')} deleted.`, data: { deleted } } }
  },
})

export const CAPTURED_ROUTES: readonly AnyRoute[] = [list, get, getRaw, deleteOne, deleteAll]

function findOwnCaptured(ctx: ApiContext, workspaceId: string, id: string): Promise<InboxMail | null> {
  return isUuid(id) ? findCaptured(ctx.db, workspaceId, id) : Promise.resolve(null)
}

function presentSummary({
  id,
  receivedAt,
  mailFrom,
  rcptTo,
  headerFrom,
  subject,
  messageId,
  tls,
  size,
  dkim,
}: CapturedEntry): Record<string, unknown> {
  return {
    id,
    received_at: receivedAt.toISOString(),
    mail_from: mailFrom,
    recipient: rcptTo,
    from: headerFrom,
    subject,
    email_id: messageId === null ? null : `em_${hexOf(messageId)}`,
    tls,
    size,
    dkim,
  }
}

async function presentCapturedEmail(mail: InboxMail): Promise<Record<string, unknown>> {
  const { raw: bytes } = mail
  const end = bytes.indexOf('\r\n\r\n')
  const head = bytes.subarray(0, Math.min(end < 0 ? bytes.length : end, MAX_PARSED_BYTES)).toString('utf8')
  return { ...presentSummary({ ...mail, size: bytes.length }), headers: head, ...(await presentParts(bytes)) }
}
