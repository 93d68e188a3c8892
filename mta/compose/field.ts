/**
 * Header fields: text, mailboxes and lists of them, made into lines that are
 * folded below 78 where they can be and below 998 always (RFC 5322 §2.1.1).
 * Whatever is put in, one field comes out: no CR or LF survives but those of its folds.
 */
import { parseAddress } from '#src/mail/address.ts'
import type { Mailbox } from '#src/mail/address.ts'
import { InvalidDraftError } from './draft.ts'
import type { HeaderField } from './draft.ts'
import { cleanText, encodeWords, isPlain } from './encoded-word.ts'

const WIDTH = 76
const LIMIT = 998
/** For the first word of a name: beside it stands the longest of our address fields. */
const NAME_WIDTH = WIDTH - 'Reply-To: '.length
const RUN = /[ \t]*[^ \t]+/g
/** RFC 5322 §3.2.3: words of atext, single spaces between them, need no quotes. */
const PHRASE = /^[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]+(?: [A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]+)*$/
/** The form nearly every address has: nothing in it needs a second look. */
const PLAIN_ADDRESS = /^[A-Za-z0-9._+=-]{1,64}@[a-z0-9.-]{1,253}$/

/** One field, from a value that is already header text (`encodeText`, `formatMailboxes`, a date…). */
export function makeField(name: string, value: string): HeaderField {
  const line = `${name}: ${value}`
  const folded = line.length <= WIDTH ? line : fold(line)
  const isAscii = Buffer.byteLength(folded) === folded.length
  return { name: name.toLowerCase(), line: `${isAscii ? folded : Buffer.from(folded).toString('latin1')}\r\n` }
}

/** Any text as the value of an unstructured field. `name` is the field's, whose length the first line has to carry. */
export function encodeText(name: string, text: string): string {
  const clean = cleanText(text)
  return isPlain(clean) ? clean : encodeWords(clean, WIDTH - name.length - 2)
}

/**
 * A mailbox as a header writes it: `a@b`, `Name <a@b>`, `"Name, quoted" <a@b>`, `=?UTF-8?…?= <a@b>`.
 * @throws BrokenDraft for an address that is none; `where` is the draft's field.
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
  // A name that only looks encoded is to be seen as it was written.
  if (name.includes('=?') || !isPlain(name)) return encodeWords(name, NAME_WIDTH)
  return PHRASE.test(name) ? name : `"${name.replace(/["\\]/g, '\\$&')}"`
}

function checkAddress(email: string, where: string): string {
  if (PLAIN_ADDRESS.test(email)) return email
  const parsed = parseAddress(email)
  if (!parsed.ok) throw new InvalidDraftError(where, parsed.reason)
  return parsed.address.address
}

/** Folds at white space that is there already; what it folds at starts the next line, so unfolding gives the line back. */
function fold(line: string): string {
  const lines: string[] = []
  let current = ''
  for (const [run] of line.matchAll(RUN)) {
    const isTooLong = current.length + run.length > WIDTH && current !== ''
    // Right behind the field's name only where that helps: some readers stumble over a first line that is empty.
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
