/**
 * The body of a send: converts every alias and form of the API contract to one canonical message. The code after this
 * file knows no alias. Validates what depends on the body alone; `prepare.ts` checks sender, limits, time and template.
 */
import { z } from 'zod'
import type { Mailbox } from '#src/mail/address.ts'
import { isHtml } from '#src/mail/html-detection.ts'
import type { BodyText, TemplateReference } from '#src/messages/submission.ts'
import { parseTime } from '#src/platform/time-input.ts'
import { referTo } from '#api/http/json-schema.ts'
import { attachments, type RequestedAttachment } from './attachments.ts'
import { headers, type CustomHeader } from './headers.ts'
import { isAbsent, mailbox, mailboxList, quoteName, readMailbox } from './mailboxes.ts'
import { tags } from './tags.ts'

const MAX_SUBJECT = 998
const MAX_NAME = 128
const MAX_METADATA = 100
const MAX_METADATA_TEXT = 2000

export interface SendBody {
  readonly to: readonly Mailbox[]
  readonly cc: readonly Mailbox[]
  readonly bcc: readonly Mailbox[]
  readonly from: Mailbox | null
  /** `tracking`: the reply-to address in the tracking settings of the workspace. */
  readonly replyTo: Mailbox | 'tracking' | null
  readonly subject: string | null
  readonly html: BodyText | null
  readonly text: BodyText | null
  /** `is_html` of the request: whether a template renders HTML. */
  readonly isHtml: boolean | null
  readonly templateId: string | null
  readonly params: Readonly<Record<string, unknown>>
  /** The template that the content was rendered from already. */
  readonly template?: TemplateReference
  readonly attachments: readonly RequestedAttachment[]
  readonly headers: readonly CustomHeader[]
  readonly tags: readonly string[]
  readonly metadata: Readonly<Record<string, string | number | boolean | null>> | null
  readonly trackOpens: boolean | null
  readonly trackClicks: boolean | null
  readonly expiresAt: Date | null
}

const text = z.string().nullish()
const flag = z.boolean().nullish()
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u

const subject = z
  .string()
  .max(MAX_SUBJECT, `at most ${MAX_SUBJECT} characters`)
  .refine((value) => !CONTROL.test(value), 'contains a line break or a control character')
  .nullish()
const metadata = z
  .record(
    z.string().min(1).max(MAX_NAME),
    z.union(
      [z.string().max(MAX_METADATA_TEXT), z.number(), z.boolean(), z.null()],
      'must be a string, a number or a boolean; metadata cannot be nested',
    ),
  )
  .refine((value) => Object.keys(value).length <= MAX_METADATA, `at most ${MAX_METADATA} entries`)
  .nullish()
const params = z.record(z.string(), z.unknown()).nullish()

const givenReplyTo = z
  .unknown()
  .optional()
  .meta({
    oneOf: [
      { type: 'string' },
      { type: 'boolean', description: 'true: the reply-to address of the workspace' },
      { type: 'object', properties: { email: { type: 'string' }, name: { type: 'string' } } },
    ],
  })
const replyTo = givenReplyTo.transform((value, sink) =>
  isAbsent(value) || value === false ? null : value === true ? ('tracking' as const) : readMailbox(value, [], sink),
)
/** The reply-to of a change; null if absent, so that it stays. */
export const changedReplyTo = givenReplyTo.transform((value, sink) => {
  if (value === undefined || value === null) return null
  if (value === false || value === '') return 'none' as const
  return value === true ? ('tracking' as const) : readMailbox(value, [], sink)
})

const givenExpiry = z.string().nullish().meta({ format: 'date-time' })
const expiresAt = givenExpiry.transform((value, sink) => readExpiry(value, sink))
/** The expiry of a change; null if absent, so that it stays. */
export const changedExpiry = givenExpiry.transform((value, sink) =>
  value === '' ? ('never' as const) : readExpiry(value, sink),
)

function readExpiry(value: string | null | undefined, sink: z.core.$RefinementCtx): Date | null {
  const moment = isAbsent(value) ? null : parseTime(value ?? '', 'UTC')
  if (moment === null && !isAbsent(value))
    sink.addIssue({ code: 'custom', message: 'must be a time such as 2031-05-04T10:00:00Z' })
  return moment
}

const fields = z.object({
  to: mailboxList,
  cc: mailboxList,
  bcc: mailboxList,
  from: mailbox,
  from_name: text,
  fromName: text.meta({ description: 'alias of from_name' }),
  reply_to: replyTo,
  subject,
  body: text.meta({ description: 'HTML or plain text; the service detects which' }),
  html: text,
  text,
  is_html: flag.meta({ description: 'overrides the detection: true = HTML, false = plain text' }),
  template_id: text,
  params,
  template_data: params.meta({ description: 'alias of params' }),
  attachments,
  headers,
  tags,
  metadata,
  track_opens: flag,
  track_clicks: flag,
  expires_at: expiresAt,
})

type SendFields = z.output<typeof fields>

export const senderFields = fields.pick({ from: true, from_name: true, fromName: true }).shape

/** The fields that are not part of a message, for a message that is complete. */
export const optionFields = fields.pick({
  tags: true,
  metadata: true,
  track_opens: true,
  track_clicks: true,
  expires_at: true,
}).shape
export type SendOptions = Pick<SendBody, 'tags' | 'metadata' | 'trackOpens' | 'trackClicks' | 'expiresAt'>

/** The fields of the content alone, to change that of a message that waits. */
export const contentFields = fields.pick({
  subject: true,
  body: true,
  html: true,
  text: true,
  is_html: true,
  template_id: true,
  params: true,
  template_data: true,
})
type ContentFields = z.output<typeof contentFields>
/** The subject and the parts of a message, or the template that they are rendered from. */
export type MessageContent = Pick<
  SendBody,
  'subject' | 'html' | 'text' | 'isHtml' | 'templateId' | 'params' | 'template'
>
type IssueSink = z.core.$RefinementCtx

const EXAMPLE = {
  from: 'Example Shop <shop@example.com>',
  to: ['anna@example.org'],
  subject: 'Your order',
  html: '<p>Hello Anna, your order is on its way.</p>',
  tags: ['order', { name: 'campaign', value: 'spring' }],
  metadata: { order: 1234 },
}

const canonicalBody = fields.transform((given, sink): SendBody => {
  if (given.to.length === 0) reportIssue(sink, 'to', 'is required')
  checkRequired(given, sink)
  return {
    to: given.to,
    cc: given.cc,
    bcc: given.bcc,
    from: readFrom(given, sink),
    replyTo: given.reply_to,
    ...readContent(given, sink),
    attachments: given.attachments,
    headers: given.headers,
    tags: given.tags ?? [],
    metadata: given.metadata ?? null,
    trackOpens: given.track_opens ?? null,
    trackClicks: given.track_clicks ?? null,
    expiresAt: given.expires_at,
  }
})

export const sendBody = canonicalBody.meta({ id: 'Message', required: ['to'], examples: [EXAMPLE] })
/** For schemas that contain a message and parse it separately. */
export const MESSAGE_REF = referTo(sendBody)

/** An empty optional string counts as absent. */
function orNull(value: string | null | undefined): string | null {
  return value === undefined || value === null || value === '' ? null : value
}

function reportIssue(sink: IssueSink, path: string, message: string): void {
  sink.addIssue({ code: 'custom', path: [path], message })
}

function listBodies(given: ContentFields): string[] {
  return (['body', 'html', 'text'] as const).filter((field) => orNull(given[field]) !== null)
}

/** A template supplies the body, and the subject unless one is given. Without a template both are required. */
function checkRequired(given: ContentFields, sink: IssueSink): void {
  if (orNull(given.template_id) !== null) return
  if (orNull(given.subject) === null) reportIssue(sink, 'subject', 'is required without a template_id')
  if (listBodies(given).length === 0) reportIssue(sink, 'body', 'is required without a template_id')
}

export function readContent(given: ContentFields, sink: IssueSink): MessageContent {
  const templateId = orNull(given.template_id)
  const bodies = listBodies(given)
  if (templateId !== null && bodies.length > 0)
    reportIssue(sink, 'template_id', `cannot be given together with ${bodies.join(', ')}`)
  return {
    subject: orNull(given.subject),
    ...readParts(given, sink),
    isHtml: given.is_html ?? null,
    templateId,
    params: given.params ?? given.template_data ?? {},
  }
}

/**
 * Assigns `body` to the HTML or the text part; `is_html` overrides the detection. A different `html` or `text` for the
 * same part is an error.
 */
function readParts(given: ContentFields, sink: IssueSink): Pick<MessageContent, 'html' | 'text'> {
  const parts = { html: orNull(given.html), text: orNull(given.text) }
  const body = orNull(given.body)
  if (body !== null) {
    const part = (given.is_html ?? isHtml(body)) ? 'html' : 'text'
    if (parts[part] !== null && parts[part] !== body) {
      reportIssue(sink, part, `contradicts body, which is ${part} too`)
      return { html: null, text: null }
    }
    parts[part] = body
  }
  return { html: asBodyText(parts.html), text: asBodyText(parts.text) }
}

/** Characters. A longer text is passed on as bytes. */
const LONG_TEXT = 64 * 1024

function asBodyText(given: string | null): BodyText | null {
  return given === null || given.length <= LONG_TEXT ? given : Buffer.from(given)
}

/** `from_name` overrides the name in `from`. */
function readFrom(given: SendFields, sink: IssueSink): Mailbox | null {
  const name = orNull(given.from_name) ?? orNull(given.fromName)
  if (given.from === null || name === null) return given.from
  return readMailbox(`${quoteName(name)} <${given.from.email}>`, [], {
    addIssue: ({ message }) => reportIssue(sink, 'from_name', message),
  })
}
