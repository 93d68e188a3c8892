/**
 * Header fields: text, mailboxes and lists of them as lines, folded below 78 octets where possible and below 998
 * always (RFC 5322 §2.1.1). Any input gives exactly one field: no CR or LF remains except those of its folds.
 */
import { parseAddress } from '#src/mail/address.ts'
import type { Mailbox } from '#src/mail/address.ts'
import { InvalidDraftError } from './draft.ts'
import type { HeaderField } from './draft.ts'
import { cleanText, encodeWords, isPlain } from './encoded-word.ts'

const WIDTH = 76
const LIMIT = 998
/** The width of the first word of a name, beside the longest of our address fields. */
const NAME_WIDTH = WIDTH - 'Reply-To: '.length
const RUN = /[ \t]*[^ \t]+/g
/** RFC 5322 §3.2.3: words of atext, single spaces between them, need no quotes. */
const PHRASE = /^[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]+(?: [A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]+)*$/
/** The form of nearly every address, which needs no parser. */
const PLAIN_ADDRESS = /^[A-Za-z0-9._+=-]{1,64}@[a-z0-9.-]{1,253}$/

/** One field, from a value that is already header text (`encodeText`, `formatMailboxes`, a date…). */
export function makeField(name: string, value: string): HeaderField {
  const line = `${name}: ${value}`
  const folded = line.length <= WIDTH ? line : fold(line)
  const isAscii = Buffer.byteLength(folded) === folded.length
  return { name: name.toLowerCase(), line: `${isAscii ? folded : Buffer.from(folded).toString('latin1')}\r\n` }
}

/** Any text as the value of an unstructured field. The field's `name` shortens the first line. */
export function encodeText(name: string, text: string): string {
  const clean = cleanText(text)
  return isPlain(clean) ? clean : encodeWords(clean, WIDTH - name.length - 2)
}

/**
 * A mailbox as a header writes it: `a@b`, `Name <a@b>`, `"Name, quoted" <a@b>`, `=?UTF-8?…?= <a@b>`.
 * @throws InvalidDraftError for an invalid address; `where` names the draft's field.
 */
export function formatMailbox(mailbox: Mailbox, where = 'mailbox'): string {
  const email = checkAddress(mailbox.email, where)
  const name = mailbox.name === null ? '' : cleanText(mailbox.name)
  return name === '' ? email : `${formatName(name)} <${email}>`
}

export function formatMailboxes(mailboxes: readonly Mailbox[], where: string): string {
  return mailboxes.map((mailbox) => formatMailbox(mailbox, where)).join(', ')
}

function formatName(name: string): string {
  // A name that only looks encoded must appear as it was written.
  if (name.includes('=?') || !isPlain(name)) return encodeWords(name, NAME_WIDTH)
  return PHRASE.test(name) ? name : `"${name.replace(/["\\]/g, '\\$&')}"`
}

function checkAddress(email: string, where: string): string {
  if (PLAIN_ADDRESS.test(email)) return email
  const parsed = parseAddress(email)
  if (!parsed.ok) throw new InvalidDraftError(where, parsed.reason)
  return parsed.address.address
}

/** Folds at existing white space, which starts the next line, so that unfolding restores the line. */
function fold(line: string): string {
  const lines: string[] = []
  let current = ''
  for (const [run] of line.matchAll(RUN)) {
    const isTooLong = current.length + run.length > WIDTH && current !== ''
    // Folds right after the field's name only if that helps: some readers fail on an empty first line.
    const isFirst = lines.length === 0 && current.endsWith(':') && !current.includes(' ')
    if (isTooLong && (!isFirst || run.length <= WIDTH || current.length + run.length > LIMIT)) {
      lines.push(current)
      current = run
    } else {
      current += run
    }
  }
  lines.push(current)
  return lines.join('\r\n')
}
