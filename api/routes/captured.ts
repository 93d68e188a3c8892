/**
 * Mail that a workspace sent to the capture domain (or to anybody in sandbox mode), as the built-in receiver took it: listed, looked at,
 * fetched whole, forgotten. It is kept for seven days. Another workspace's is not there. What it holds is the sender's: it is answered as
 * JSON or as a download, and never shown as a page.
 */
import { Readable } from 'node:stream'
import type { ParsedMail } from 'mailparser'
import { z } from 'zod'
import { refuse } from '#src/platform/errors.ts'
import { hexOf, isUuid } from '#src/platform/id.ts'
import { findCaptured, forgetCaptured, listCaptured, type CapturedLine, type InboxMail } from '#src/sandbox/inbox.ts'
import type { ApiContext } from '#api/http/context.ts'
import { pageData, paging } from '#api/http/paging.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { enveloped, moment, pageOf } from '#api/http/answer-shapes.ts'

/** What is longer is not taken apart here, where others wait: it can be fetched whole. */
const READABLE = 256 * 1024

const line = {
  id: z.uuid(),
  received_at: moment,
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
const lineShape = z.object(line).meta({ id: 'CapturedEmail' })
const mailShape = z.object({
  ...line,
  headers: z.string(),
  text: z.string().nullable(),
  html: z.string().nullable(),
  attachments: z
    .array(z.object({ filename: z.string().nullable(), content_type: z.string(), size: z.int() }))
    .nullable()
    .meta({ description: `null, as text and html, for more than ${READABLE / 1024} KB: fetch it whole` }),
})
const one = z.object({ id: z.string() })
const forgotten = enveloped(z.object({ deleted: z.int() }))
const NONE = refuse('NOT_FOUND', 'There is no such captured email. They are kept for seven days.')

const list = route({
  name: 'get-captured-emails',
  summary: 'Emails that were captured instead of being sent, the newest first',
  description:
    'Whatever is sent to the capture domain (`capture` of the workspace tells it) takes the whole real path to a built-in receiver, ends ' +
    'in the state `captured`, and is kept for seven days. The part before the "@" may ask for another outcome.',
  method: 'GET',
  paths: ['/public/emails/captured'],
  access: 'any',
  query: paging,
  status: 200,
  answer: pageOf('emails', lineShape),
  errors: [],
  handle: async (ctx, { caller, query }) => {
    const { items, total } = await listCaptured(ctx.db, caller.workspaceId, query)
    return {
      body: {
        success: true,
        message: `${total} captured emails.`,
        data: pageData('emails', { items: items.map(presentLine), total }, query),
      },
    }
  },
})

const get = route({
  name: 'get-captured-email',
  summary: 'One captured email: headers, text, HTML, signatures',
  method: 'GET',
  paths: ['/public/emails/captured/:id'],
  access: 'any',
  params: one,
  status: 200,
  answer: enveloped(mailShape),
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const mail = await find(ctx, caller.workspaceId, params.id)
    return mail === null
      ? NONE
      : { body: { success: true, message: 'The captured email.', data: await presentMail(mail) } }
  },
})

const raw = route({
  name: 'get-captured-email-raw',
  summary: 'One captured email, octet for octet',
  method: 'GET',
  paths: ['/public/emails/captured/:id/raw'],
  access: 'any',
  params: one,
  status: 200,
  produces: ['message/rfc822'],
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const mail = await find(ctx, caller.workspaceId, params.id)
    if (mail === null) return NONE
    return {
      body: Readable.from([mail.raw]),
      type: 'message/rfc822',
      headers: { 'Content-Disposition': `attachment; filename="${mail.id}.eml"` },
    }
  },
})

const forget = route({
  name: 'delete-captured-email',
  summary: 'Forget one captured email',
  method: 'DELETE',
  paths: ['/public/emails/captured/:id'],
  access: 'any',
  params: one,
  status: 200,
  answer: forgotten,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const deleted = isUuid(params.id) ? await forgetCaptured(ctx.db, caller.workspaceId, params.id) : 0
    return deleted === 0
      ? NONE
      : { body: { success: true, message: 'The captured email is forgotten.', data: { deleted } } }
  },
})

const forgetAll = route({
  name: 'delete-captured-emails',
  summary: 'Forget all captured emails',
  method: 'DELETE',
  paths: ['/public/emails/captured'],
  access: 'any',
  status: 200,
  answer: forgotten,
  errors: [],
  handle: async (ctx, { caller }) => {
    const deleted = await forgetCaptured(ctx.db, caller.workspaceId, null)
    return { body: { success: true, message: `${deleted} captured emails are forgotten.`, data: { deleted } } }
  },
})

export const CAPTURED_ROUTES: readonly AnyRoute[] = [list, get, raw, forget, forgetAll]

function find(ctx: ApiContext, workspaceId: string, id: string): Promise<InboxMail | null> {
  return isUuid(id) ? findCaptured(ctx.db, workspaceId, id) : Promise.resolve(null)
}

function presentLine({
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
}: CapturedLine): Record<string, unknown> {
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

async function presentMail(mail: InboxMail): Promise<Record<string, unknown>> {
  const { raw: bytes } = mail
  const end = bytes.indexOf('\r\n\r\n')
  const head = bytes.subarray(0, Math.min(end < 0 ? bytes.length : end, READABLE)).toString('utf8')
  return { ...presentLine({ ...mail, size: bytes.length }), headers: head, ...(await partsOf(bytes)) }
}

async function partsOf(bytes: Buffer): Promise<Record<string, unknown>> {
  const parsed = bytes.length > READABLE ? null : await parse(bytes)
  if (parsed === null) return { text: null, html: null, attachments: null }
  const attachments = parsed.attachments.map(({ filename, contentType, size }) => ({
    filename: filename ?? null,
    content_type: contentType,
    size,
  }))
  return { text: parsed.text ?? null, html: parsed.html === false ? null : parsed.html, attachments }
}

/** Null for what nobody can make sense of. */
async function parse(bytes: Buffer): Promise<ParsedMail | null> {
  // large, and most processes never need it
  const { simpleParser } = await import('mailparser')
  try {
    return await simpleParser(bytes, {
      skipHtmlToText: true,
      skipTextToHtml: true,
      skipTextLinks: true,
      skipImageLinks: true,
    })
  } catch {
    return null
  }
}
