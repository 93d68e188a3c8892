/**
 * The forms in which people write addresses, folded into mailboxes: `a@b`, `Name <a@b>`, `{email, name?}`, for lists also an array of these
 * or one text with commas. What an address is, and what a name may be, is decided by src/mail/address.ts alone.
 * Commas cut only where the whole list is one text: an entry of an array with a comma in it is a list that wants to pass for one address.
 */
import { z } from 'zod'
import { parseMailbox, splitMailboxes, type Mailbox } from '#src/mail/address.ts'

interface MailboxIssueSink {
  addIssue(issue: { code: 'custom'; path: (string | number)[]; message: string }): void
}

const MAILBOX_OBJECT = {
  type: 'object',
  properties: { email: { type: 'string' }, name: { type: 'string' } },
  required: ['email'],
}
const MAILBOX_FORMS = [{ type: 'string', description: '`a@b` or `Name <a@b>`' }, MAILBOX_OBJECT]

/** One mailbox; null when it is left out. */
export const mailbox = z
  .unknown()
  .optional()
  .meta({ oneOf: MAILBOX_FORMS })
  .transform((value, sink) => (isAbsent(value) ? null : readMailbox(value, [], sink)))

/** A list of mailboxes; empty when it is left out. */
export const mailboxList = z
  .unknown()
  .optional()
  .meta({
    oneOf: [
      { type: 'array', items: { oneOf: MAILBOX_FORMS } },
      { type: 'string', description: 'one address, or several with commas between' },
      MAILBOX_OBJECT,
    ],
  })
  .transform((value, sink) => readList(value, sink))

/** What is left out: clients also write null, or an empty text. */
export function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

function readList(value: unknown, sink: MailboxIssueSink): Mailbox[] {
  if (isAbsent(value)) return []
  if (typeof value === 'string') return withoutNulls(splitMailboxes(value).map((text) => readMailbox(text, [], sink)))
  if (Array.isArray(value)) return withoutNulls(value.map((item, i) => readMailbox(item, [i], sink)))
  return withoutNulls([readMailbox(value, [], sink)])
}

function withoutNulls(found: readonly (Mailbox | null)[]): Mailbox[] {
  return found.filter((one) => one !== null)
}

/** Null after an issue was told. */
export function readMailbox(value: unknown, path: number[], sink: MailboxIssueSink): Mailbox | null {
  if (typeof value === 'string') return parseText(value, path, sink)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return reportIssue(path, 'must be an address or an object {email, name}', sink)
  const { email, name } = value as { email?: unknown; name?: unknown }
  if (typeof email !== 'string') return reportIssue([...path, 'email'], 'is required', sink)
  if (isAbsent(name)) return parseText(email, [...path, 'email'], sink)
  if (typeof name !== 'string') return reportIssue([...path, 'name'], 'must be a text', sink)
  return parseText(`${quoteName(name)} <${email}>`, path, sink)
}

/** A name as the address rule reads it back unchanged. */
export function quoteName(name: string): string {
  return `"${name.replace(/["\\]/g, '\\$&')}"`
}

function parseText(text: string, path: (string | number)[], sink: MailboxIssueSink): Mailbox | null {
  const result = parseMailbox(text)
  return result.ok ? result.mailbox : reportIssue(path, result.reason, sink)
}

function reportIssue(path: (string | number)[], message: string, sink: MailboxIssueSink): null {
  sink.addIssue({ code: 'custom', path, message })
  return null
}
