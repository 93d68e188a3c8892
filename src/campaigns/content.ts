/**
 * The content and sender of campaign and automation messages as clients write them: a template, or subject and body.
 * Aliases are normalised here. `references.ts` checks that the referenced template and sending domain belong to the
 * workspace.
 */
import { z } from 'zod'
import { isUuid } from '#src/platform/id.ts'
import { SCHEMA_TEXTS } from '#src/platform/schema-texts.ts'
import { parseMailbox, type Mailbox } from '#src/mail/address.ts'

const MAX_BODY = 1_000_000
const MAX_SUBJECT = 998
const MAX_NAME = 255

type IssueContext = z.core.$RefinementCtx

/** `undefined`: omitted. `null`: cleared. */
export interface MailContentInput {
  readonly template_id: string | null | undefined
  readonly subject: string | null | undefined
  /** HTML or plain text, detected. */
  readonly body: string | null | undefined
  /** The text part beside HTML; without a body it becomes the body (`useTextAsBody`). */
  readonly text: string | null | undefined
  /** A bare address. */
  readonly from: string | null | undefined
  readonly from_name: string | null | undefined
  readonly reply_to: string | null | undefined
}

/** One line of at most `max` characters, without control characters. */
export function singleLine(max: number): z.ZodString {
  return z
    .string()
    .max(max, `at most ${max} characters`)
    .regex(/^[^\p{Cc}]*$/u, 'must be one line without control characters')
}

/** Like `singleLine`, but not empty. */
export function nonEmptyLine(max: number): z.ZodString {
  return singleLine(max).regex(/\S/, 'must not be empty')
}

/** A UUID, normalised to lower case. */
export const uuid = z
  .string()
  .refine(isUuid, 'must be a uuid')
  .transform((id) => id.toLowerCase())

export const aliasOf = (name: string): { readonly description: string } => ({ description: `alias of ${name}` })

const SENDER_SCHEMAS = [
  { type: 'string', description: '`a@b.example` or `Name <a@b.example>`' },
  { type: 'object', properties: { email: { type: 'string' }, name: { type: 'string' } }, required: ['email'] },
  { type: 'null' },
]
const namedAddress = z.object({ email: z.string(), name: singleLine(MAX_NAME).nullish() })
const senderField = z
  .unknown()
  .optional()
  .meta({ oneOf: SENDER_SCHEMAS })
  .transform((value, issues) => readSender(value, issues))
const textField = z.string().max(MAX_BODY, `at most ${MAX_BODY} characters`).nullish()
const nameField = singleLine(MAX_NAME).nullish()
const templateField = z.union([uuid, z.literal('').transform(() => null)], 'must be the id of a template').nullish()

/** Fields for a zod object that contains message content. */
export const contentFields = {
  template_id: templateField,
  templateId: templateField.meta(aliasOf('template_id')),
  subject: singleLine(MAX_SUBJECT).nullish(),
  body: textField.meta({ description: 'HTML or text, detected' }),
  html: textField.meta(aliasOf('body')),
  text: textField.meta({ description: 'the text part beside HTML; without a body it is the body' }),
  from: senderField,
  from_email: senderField.meta(aliasOf('from')),
  from_name: nameField,
  fromName: nameField.meta(aliasOf('from_name')),
  reply_to: senderField,
  replyTo: senderField.meta(aliasOf('reply_to')),
} as const

const contentSchema = z.object(contentFields)

/** Normalises aliases and empty values. Adds an issue if a template and a body are given together. */
export function normalizeContent(given: z.output<typeof contentSchema>, issues: IssueContext): MailContentInput {
  const from = firstGiven(given.from, given.from_email)
  const reply = firstGiven(given.reply_to, given.replyTo)
  const content = {
    template_id: firstGiven(given.template_id, given.templateId),
    subject: emptyToNull(given.subject),
    body: emptyToNull(firstGiven(given.body, given.html)),
    text: emptyToNull(given.text),
    from: from?.email ?? (from === undefined ? undefined : null),
    from_name: emptyToNull(firstGiven(given.from_name, given.fromName)) ?? from?.name ?? given.from_name,
    reply_to: reply?.email ?? (reply === undefined ? undefined : null),
  }
  if (isPresent(content.template_id) && (isPresent(content.body) || isPresent(content.text)))
    issues.addIssue({
      code: 'custom',
      path: ['template_id'],
      message: 'cannot be given together with body, html or text',
    })
  return content
}

/** Lists what a message lacks to be sendable: content or a sender. */
export function findMissingContent(content: MailContentInput): { readonly path: string; readonly message: string }[] {
  const { template_id: templateId, subject, from } = content
  const { body } = useTextAsBody(content)
  const isComplete = isPresent(templateId) || (isPresent(subject) && isPresent(body))
  const path = isPresent(body) ? 'subject' : 'template_id'
  return [
    ...(isComplete ? [] : [{ path, message: 'is required: a template_id, or subject and body' }]),
    ...(isPresent(from) ? [] : [{ path: 'from', message: 'is required' }]),
  ]
}

/** Uses the text as the body if there is no body. */
export function useTextAsBody<C extends Pick<MailContentInput, 'body' | 'text'>>(content: C): C {
  return isPresent(content.body) || !isPresent(content.text) ? content : { ...content, body: content.text, text: null }
}

function firstGiven<T>(...values: readonly (T | null | undefined)[]): T | null | undefined {
  return values.find((value) => value !== undefined && value !== null) ?? values.find((value) => value !== undefined)
}

function isPresent(value: string | null | undefined): value is string {
  return value !== undefined && value !== null && value !== ''
}

/** An empty string clears the field, as null does. */
function emptyToNull(value: string | null | undefined): string | null | undefined {
  return value === '' ? null : value
}

function readSender(value: unknown, issues: IssueContext): Mailbox | null | undefined {
  if (value === undefined || value === null) return value
  if (value === '') return null
  const read = namedAddress.safeParse(value, SCHEMA_TEXTS)
  const address = typeof value === 'string' ? value : read.data?.email
  const nameIssue = read.error?.issues.find(({ path }) => path[0] === 'name')
  if (address === undefined)
    return addIssue(
      issues,
      nameIssue === undefined ? 'must be an address or an object {email, name}' : `its name ${nameIssue.message}`,
    )
  const parsed = parseMailbox(address)
  if (!parsed.ok) return addIssue(issues, parsed.reason)
  return { email: parsed.mailbox.email, name: read.data?.name ?? parsed.mailbox.name }
}

function addIssue(issues: IssueContext, message: string): null {
  issues.addIssue({ code: 'custom', message })
  return null
}
