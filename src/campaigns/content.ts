/**
 * What a mail of a campaign or an automation says, and in whose name, as clients write it: a template, or subject and body. Aliases are
 * folded here. What it refers to (template, sending domain) is judged against the workspace by `references.ts`.
 */
import { z } from 'zod'
import { isUuid } from '#src/platform/id.ts'
import { parseMailbox, type Mailbox } from '#src/mail/address.ts'

const MAX_BODY = 1_000_000
const MAX_SUBJECT = 998
const MAX_NAME = 255

type Sink = z.core.$RefinementCtx

/** `undefined`: left out. `null`: cleared. */
export interface MailContent {
  readonly template_id: string | null | undefined
  readonly subject: string | null | undefined
  /** HTML or text, detected. */
  readonly body: string | null | undefined
  /** The text part beside HTML; alone it is the body (`asBody`). */
  readonly text: string | null | undefined
  /** A bare address. */
  readonly from: string | null | undefined
  readonly from_name: string | null | undefined
  readonly reply_to: string | null | undefined
}

/** One line of at most `max` characters, without control characters. */
export function line(max: number): z.ZodString {
  return z
    .string()
    .max(max, `at most ${max} characters`)
    .regex(/^[^\p{Cc}]*$/u, 'must be one line without control characters')
}

/** As `line`, with something in it. */
export function filled(max: number): z.ZodString {
  return line(max).regex(/\S/, 'must not be empty')
}

/** An id in its canonical form. */
export const uuid = z
  .string()
  .refine(isUuid, 'must be a uuid')
  .transform((id) => id.toLowerCase())

export const aliasOf = (name: string): { readonly description: string } => ({ description: `alias of ${name}` })

const FORMS = [
  { type: 'string', description: '`a@b.example` or `Name <a@b.example>`' },
  { type: 'object', properties: { email: { type: 'string' }, name: { type: 'string' } }, required: ['email'] },
  { type: 'null' },
]
const named = z.object({ email: z.string(), name: line(MAX_NAME).nullish() })
const sender = z
  .unknown()
  .optional()
  .meta({ oneOf: FORMS })
  .transform((value, sink) => readSender(value, sink))
const text = z.string().max(MAX_BODY, `at most ${MAX_BODY} characters`).nullish()
const name = line(MAX_NAME).nullish()
const template = z.union([uuid, z.literal('').transform(() => null)], 'must be the id of a template').nullish()

/** For a zod object that has a mail in it. */
export const contentFields = {
  template_id: template,
  templateId: template.meta(aliasOf('template_id')),
  subject: line(MAX_SUBJECT).nullish(),
  body: text.meta({ description: 'HTML or text, detected' }),
  html: text.meta(aliasOf('body')),
  text: text.meta({ description: 'the text part beside HTML; alone it is the body' }),
  from: sender,
  from_email: sender.meta(aliasOf('from')),
  from_name: name,
  fromName: name.meta(aliasOf('from_name')),
  reply_to: sender,
  replyTo: sender.meta(aliasOf('reply_to')),
} as const

const fields = z.object(contentFields)

/** One form of what was given; tells where a template and a body are given together. */
export function foldContent(given: z.output<typeof fields>, sink: Sink): MailContent {
  const from = first(given.from, given.from_email)
  const reply = first(given.reply_to, given.replyTo)
  const content = {
    template_id: first(given.template_id, given.templateId),
    subject: emptied(given.subject),
    body: emptied(first(given.body, given.html)),
    text: emptied(given.text),
    from: from?.email ?? (from === undefined ? undefined : null),
    from_name: emptied(first(given.from_name, given.fromName)) ?? from?.name ?? given.from_name,
    reply_to: reply?.email ?? (reply === undefined ? undefined : null),
  }
  if (isThere(content.template_id) && (isThere(content.body) || isThere(content.text)))
    sink.addIssue({
      code: 'custom',
      path: ['template_id'],
      message: 'cannot be given together with body, html or text',
    })
  return content
}

/** The details of a mail that could not be sent as it is: no content, or no sender. */
export function missingIn(content: MailContent): { readonly path: string; readonly message: string }[] {
  const { template_id: templateId, subject, from } = content
  const { body } = asBody(content)
  const isComplete = isThere(templateId) || (isThere(subject) && isThere(body))
  const path = isThere(body) ? 'subject' : 'template_id'
  return [
    ...(isComplete ? [] : [{ path, message: 'is required: a template_id, or subject and body' }]),
    ...(isThere(from) ? [] : [{ path: 'from', message: 'is required' }]),
  ]
}

/** A text that stands alone is the body. */
export function asBody<C extends Pick<MailContent, 'body' | 'text'>>(content: C): C {
  return isThere(content.body) || !isThere(content.text) ? content : { ...content, body: content.text, text: null }
}

function first<T>(...values: readonly (T | null | undefined)[]): T | null | undefined {
  return values.find((value) => value !== undefined && value !== null) ?? values.find((value) => value !== undefined)
}

function isThere(value: string | null | undefined): value is string {
  return value !== undefined && value !== null && value !== ''
}

/** An empty text clears as null does. */
function emptied(value: string | null | undefined): string | null | undefined {
  return value === '' ? null : value
}

function readSender(value: unknown, sink: Sink): Mailbox | null | undefined {
  if (value === undefined || value === null) return value
  if (value === '') return null
  const read = named.safeParse(value)
  const written = typeof value === 'string' ? value : read.data?.email
  const wrong = read.error?.issues.find(({ path }) => path[0] === 'name')
  if (written === undefined)
    return complain(
      sink,
      wrong === undefined ? 'must be an address or an object {email, name}' : `its name ${wrong.message}`,
    )
  const parsed = parseMailbox(written)
  if (!parsed.ok) return complain(sink, parsed.reason)
  return { email: parsed.mailbox.email, name: read.data?.name ?? parsed.mailbox.name }
}

function complain(sink: Sink, message: string): null {
  sink.addIssue({ code: 'custom', message })
  return null
}
