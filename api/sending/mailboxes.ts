/**
 * Parses mailboxes in all accepted forms: `a@b`, `Name <a@b>`, `{email, name?}`; for lists also an array of these or
 * one string with commas. src/mail/address.ts alone decides which addresses and names are valid. Commas separate
 * addresses only in such a string; in an entry of an array they make the address invalid.
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

/** One mailbox; null if absent. */
export const mailbox = z
  .unknown()
  .optional()
  .meta({ oneOf: MAILBOX_FORMS })
  .transform((value, sink) => (isAbsent(value) ? null : readMailbox(value, [], sink)))

const LIST_FORMS = [
  { type: 'array', items: { oneOf: MAILBOX_FORMS } },
  { type: 'string', description: 'one address, or several separated by commas' },
  MAILBOX_OBJECT,
]

/** A list of mailboxes; empty if absent. */
export const mailboxList = z
  .unknown()
  .optional()
  .meta({ oneOf: LIST_FORMS })
  .transform((value, sink) => readList(value, sink))

/** The list of a change; null if absent, so that it stays. */
export const changedMailboxList = z
  .unknown()
  .optional()
  .meta({ oneOf: LIST_FORMS })
  .transform((value, sink) => (value === undefined || value === null ? null : readList(value, sink)))

/** Null and an empty string also count as absent. */
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

/** Returns null after it has reported an issue. */
export function readMailbox(value: unknown, path: number[], sink: MailboxIssueSink): Mailbox | null {
  if (typeof value === 'string') return parseText(value, path, sink)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return reportIssue(path, 'must be an address or an object {email, name}', sink)
  const { email, name } = value as { email?: unknown; name?: unknown }
  if (typeof email !== 'string') return reportIssue([...path, 'email'], 'is required', sink)
  if (isAbsent(name)) return parseText(email, [...path, 'email'], sink)
  if (typeof name !== 'string') return reportIssue([...path, 'name'], 'must be a string', sink)
  return parseText(`${quoteName(name)} <${email}>`, path, sink)
}

/** Quotes a name so that the address parser returns it unchanged. */
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
