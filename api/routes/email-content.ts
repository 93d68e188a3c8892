/**
 * The content of a message that was sent: its header as it goes over the wire, texts and attachments; its source as a
 * file; and each attempt with its SMTP dialog, line by line. Content is stored for a time of its own (retention); after
 * it only the fields of get-email are left. It may be a password reset of a customer, so it needs a scope. Mail with a
 * link that gives access to this service, such as an invitation, is never shown.
 *
 * The content comes from senders and receivers: it is returned as JSON or as a download, never as a page.
 */
import { Readable } from 'node:stream'
import { z } from 'zod'
import { decodeHeaderText } from '#src/mail/header-text.ts'
import { readMessage, type AttemptView } from '#src/messages/read.ts'
import type { HeaderField } from '#src/mail/split-message.ts'
import { refuse, type Refusal } from '#src/platform/errors.ts'
import { hexOf, messageIdOf } from '#src/platform/id.ts'
import type { ApiContext } from '#api/http/context.ts'
import { MAX_SHOWN_BYTES, type MessageSource } from '#api/http/message-source.ts'
import { isRefusal } from '#api/http/response.ts'
import { envelope, timestamp } from '#api/http/response-schemas.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { countText } from '#src/platform/plural.ts'
import { dialogLines, dialogSchema } from './smtp-dialog.ts'
import { presentParts, type PresentedParts } from './parsed-message.ts'

const ACCESS = { admin: 'emails:read' } as const
/** Longer texts are cut; the source has all of them. */
const MAX_TEXT = 500_000

export const emailParams = z.object({
  id: z.string().min(1, 'is required').meta({ description: 'msg_…, em_…, scheduled_msg_… or the uuid' }),
})
export const NO_EMAIL_HERE = refuse('NOT_FOUND', 'There is no such email. Search for it with search-emails.')
const DELETED = refuse(
  'CONFLICT',
  'The content of this email is not stored any more. Ask the operator for a longer retention of bodies.',
)
const CONFIDENTIAL = refuse(
  'FORBIDDEN',
  'This email has a link for its recipient only, so its content is not shown. Use get-email for its state.',
)

type Source = Extract<MessageSource, { kind: 'source' }>

async function findSource(ctx: ApiContext, workspaceId: string, name: string): Promise<Source | Refusal> {
  const id = messageIdOf(name)
  const found: MessageSource = id === null ? { kind: 'not-found' } : await ctx.messageSources.find(workspaceId, id, 0)
  if (found.kind === 'source') return found
  if (found.kind === 'not-found') return NO_EMAIL_HERE
  if (found.kind === 'confidential') return CONFIDENTIAL
  if (found.kind === 'deleted') return DELETED
  return found.kind === 'too-large'
    ? refuse(
        'CONFLICT',
        `The email has ${found.bytes} bytes; only up to ${MAX_SHOWN_BYTES} are composed. Use get-email.`,
      )
    : refuse('CONFLICT', `The email cannot be composed: ${found.reason}. Correct its template or fields and send anew.`)
}

const headerSchema = z
  .object({
    name: z.string().meta({ description: 'the name of the field, as it is written' }),
    value: z.string().meta({ description: 'the value for people: unfolded and decoded' }),
  })
  .meta({ id: 'EmailHeader' })

const contentSchema = z
  .object({
    email_id: z.string(),
    subject: z.string(),
    origin: z.enum(['fields', 'complete', 'template']).meta({
      description:
        '`fields`: made from the fields of a request; `complete`: submitted as a whole, by SMTP or HTTP; `template`: ' +
        'a campaign or automation, rendered again with the present data of its contact',
    }),
    headers: z.array(headerSchema).meta({ description: 'the header fields in their order, without DKIM signatures' }),
    html: z.string().nullable().meta({ description: 'the HTML part, without tracking; null if there is none' }),
    text: z.string().nullable().meta({ description: 'the plain text part; null if there is none' }),
    is_truncated: z
      .boolean()
      .meta({ description: `a text has more than ${MAX_TEXT} characters and is cut: download the source` }),
    attachments: z
      .array(
        z.object({
          filename: z.string().nullable(),
          content_type: z.string(),
          size: z.int().meta({ description: 'bytes' }),
        }),
      )
      .nullable()
      .meta({ description: 'the files; null, like the texts, for a complete message that is too long to be parsed' }),
    size: z.int().min(0).meta({ description: 'bytes of the source' }),
  })
  .meta({ id: 'EmailContent' })

const getContent = route({
  name: 'get-email-content',
  summary: 'Get the content of a message: header fields, texts, attachments',
  description:
    'The message as it is composed for delivery. What is added for each recipient when it is sent is not in it: DKIM ' +
    'signatures, tracking, and the List-Unsubscribe of bulk mail. 409 once the content was deleted.',
  method: 'GET',
  paths: ['/public/emails/:id/content'],
  access: ACCESS,
  params: emailParams,
  status: 200,
  response: envelope(contentSchema),
  errors: ['NOT_FOUND', 'FORBIDDEN', 'CONFLICT'],
  handle: async (ctx, { caller, params }) => {
    const source = await findSource(ctx, caller.workspaceId, params.id)
    if (isRefusal(source)) return source
    return { body: { success: true, message: 'Email content.', data: await presentContent(source) } }
  },
})

async function presentContent({ stored, draft, composed }: Source): Promise<z.output<typeof contentSchema>> {
  const { row } = stored
  const parts = draft.raw === null ? partsOf(draft) : await presentParts(draft.raw)
  return {
    email_id: `em_${hexOf(row.id)}`,
    subject: draft.subject,
    origin: draft.raw !== null ? 'complete' : row.content_id === null ? 'fields' : 'template',
    headers: composed.fields.map(presentHeader),
    html: cut(parts.html),
    text: cut(parts.text),
    is_truncated: [parts.html, parts.text].some((text) => text !== null && text.length > MAX_TEXT),
    attachments: parts.attachments === null ? null : [...parts.attachments],
    size: Buffer.byteLength(composed.head, 'latin1') + composed.body.length,
  }
}

function partsOf({ html, text, attachments }: Source['draft']): PresentedParts {
  const files = attachments.map(({ filename, contentType, content }) => ({
    filename,
    content_type: contentType,
    size: content.length,
  }))
  return { html, text, attachments: files }
}

function presentHeader({ line }: HeaderField): { name: string; value: string } {
  const colon = line.indexOf(':')
  return colon < 0
    ? { name: '', value: decodeHeaderText(line) }
    : { name: line.slice(0, colon).trim(), value: decodeHeaderText(line.slice(colon + 1)) }
}

const cut = (text: string | null): string | null => text?.slice(0, MAX_TEXT).toWellFormed() ?? null

const getSource = route({
  name: 'get-email-source',
  summary: 'Download a message as it goes over the wire, without DKIM signatures and tracking',
  method: 'GET',
  paths: ['/public/emails/:id/source'],
  access: ACCESS,
  params: emailParams,
  status: 200,
  produces: ['message/rfc822'],
  errors: ['NOT_FOUND', 'FORBIDDEN', 'CONFLICT'],
  handle: async (ctx, { caller, params }) => {
    const source = await findSource(ctx, caller.workspaceId, params.id)
    if (isRefusal(source)) return source
    const { stored, composed } = source
    return {
      body: Readable.from([Buffer.from(composed.head, 'latin1'), composed.body]),
      type: 'message/rfc822',
      headers: { 'Content-Disposition': `attachment; filename="em_${hexOf(stored.row.id)}.eml"` },
    }
  },
})

const attemptSchema = z
  .object({
    recipient: z.string(),
    attempt: z.int().min(0),
    at: timestamp,
    outcome: z.string(),
    reason: z.string().nullable(),
    duration_ms: z.int(),
    route: z
      .object({
        host: z.string().nullable().meta({ description: 'the host name of the server; null if none was reached' }),
        address: z.string().nullable().meta({ description: 'the IP address of the server' }),
        source: z.string().nullable().meta({
          description: 'the egress source it left from; null: the operating system chose the address',
        }),
        tls: z.string().nullable().meta({ description: 'the TLS version and cipher; null without TLS' }),
      })
      .meta({ description: 'the way that the attempt took' }),
    dialog: dialogSchema,
  })
  .meta({ id: 'EmailAttempt' })

const getAttempts = route({
  name: 'get-email-attempts',
  summary: 'Get each delivery attempt of a message: route, TLS and SMTP dialog, line by line',
  description:
    'The dialog has commands, replies and remarks of this server. Never the message itself, and never a password: ' +
    'those are replaced. It is stored as long as events.',
  method: 'GET',
  paths: ['/public/emails/:id/attempts'],
  access: ACCESS,
  params: emailParams,
  status: 200,
  response: envelope(z.object({ email_id: z.string(), attempts: z.array(attemptSchema) })),
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const id = messageIdOf(params.id)
    const message = id === null ? null : await readMessage(ctx.db, caller.workspaceId, id)
    if (message === null) return NO_EMAIL_HERE
    const attempts = message.recipients.flatMap(({ address, attempts: made }) =>
      made.map((attempt) => presentAttempt(address, attempt)),
    )
    const data = { email_id: `em_${hexOf(message.id)}`, attempts }
    return { body: { success: true, message: `${countText(attempts.length, 'attempt')}.`, data } }
  },
})

function presentAttempt(recipient: string, one: AttemptView): z.output<typeof attemptSchema> {
  const { attempt, at, outcome, reason, durationMs, host, address, source, tls, conversation } = one
  return {
    recipient,
    attempt,
    at: at.toISOString(),
    outcome,
    reason,
    duration_ms: durationMs,
    route: { host, address, source, tls },
    dialog: dialogLines(conversation),
  }
}

export const EMAIL_CONTENT_ROUTES: readonly AnyRoute[] = [getContent, getSource, getAttempts]
