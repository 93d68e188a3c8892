/**
 * The recipients of a complete message: those of its envelope, or those that its header names. Only the header decides
 * whether a recipient is shown: one in neither To nor Cc is a Bcc.
 */
import { parseAddress, parseMailbox, splitMailboxes, type Mailbox } from '#src/mail/address.ts'
import { fieldText } from '#src/mail/field-value.ts'
import type { SubmittedRecipient } from '#src/messages/submission.ts'
import type { SubmissionSender } from './sender.ts'
import { contentError, SubmissionError } from './submission-error.ts'
import type { SubmittedMessage } from './submitted-message.ts'
import { countText } from '#src/platform/plural.ts'

interface HeaderLists {
  readonly to: readonly Mailbox[]
  readonly cc: readonly Mailbox[]
}

/** Each address once, whatever its case. Addresses that cannot be parsed were refused before. */
export function recipientsOf(
  addresses: readonly string[],
  header: HeaderLists,
  sender: Pick<SubmissionSender, 'destinationOf'>,
): SubmittedRecipient[] {
  const [to, cc] = [header.to, header.cc].map((list) => new Set(list.map(({ email }) => email.toLowerCase())))
  const found = new Map<string, SubmittedRecipient>()
  for (const given of addresses) {
    const read = parseAddress(given)
    if (!read.ok) continue
    const { address, domain } = read.address
    const name = address.toLowerCase()
    const kind = to?.has(name) === true ? 'to' : cc?.has(name) === true ? 'cc' : 'bcc'
    if (!found.has(name)) found.set(name, { address, domain: sender.destinationOf(domain), kind })
  }
  return [...found.values()]
}

const FIELDS: ReadonlySet<string> = new Set(['to', 'cc', 'bcc'])

/**
 * The addresses in To, Cc and Bcc, for a message without an envelope. Unlike lists that are only displayed, each must
 * be valid, because a recipient that is left out would get no mail.
 * @param max more entries are refused before they are parsed
 * @throws SubmissionError
 */
export function readHeaderRecipients({ fields }: Pick<SubmittedMessage, 'fields'>, max: number): string[] {
  const pieces = fields
    .filter(({ name }) => FIELDS.has(name))
    .flatMap((field) => splitMailboxes(withoutGroups(fieldText(field))).map((piece) => ({ name: field.name, piece })))
  if (pieces.length > max)
    throw new SubmissionError(
      'content',
      `To, Cc and Bcc have ${countText(pieces.length, 'address', 'addresses')}; at most ${max} are allowed`,
    )
  return pieces.map(({ name, piece }) => {
    const read = parseMailbox(piece)
    if (!read.ok) throw contentError(`An address in ${name} cannot be parsed: ${read.reason}`)
    return read.mailbox.email
  })
}

/** The closing characters of what may contain a colon or a semicolon that is not of a group. */
const ENCLOSED: Readonly<Record<string, string>> = { '"': '"', '<': '>', '[': ']' }

/** Removes the names of groups (RFC 5322 3.4): `friends: a@b, c@d;` is the list of its members. */
function withoutGroups(text: string): string {
  if (!text.includes(':') && !text.includes(';')) return text
  let done = ''
  let piece = ''
  let closing = ''
  for (let i = 0; i < text.length; i++) {
    const c = text.charAt(i)
    if (c === '\\' && closing === '"') piece += c + text.charAt(++i)
    else if (closing !== '') {
      piece += c
      if (c === closing) closing = ''
    } else if (c === ':') piece = ''
    else if (c === ',' || c === ';') {
      done += `${piece},`
      piece = ''
    } else {
      piece += c
      closing = ENCLOSED[c] ?? ''
    }
  }
  return done + piece
}
