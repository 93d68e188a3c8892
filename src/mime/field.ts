/**
 * Header fields: text, mailboxes and lists of them as lines, folded below 78 octets where possible and below 998
 * always (RFC 5322 §2.1.1). Text beyond printable ASCII becomes encoded words (RFC 2047): each at most 75 characters,
 * none cut inside of a character, Q where most of it is ASCII, else B. Any input gives exactly one field: no CR or LF
 * remains except those of its folds. Pure; linear.
 */
import { parseAddress } from '#src/mail/address.ts'
import type { Mailbox } from '#src/mail/address.ts'
import { InvalidDraftError } from './draft.ts'
import type { HeaderField } from '#src/mail/split-message.ts'

/** Characters of a line: where it is folded if it can be, and RFC 5322 §2.1.1's limit. */
const WIDTH = 76
const LIMIT = 998
/** White space and what follows it: no fold divides it. */
const RUN = /[ \t]*[^ \t]+/g
/** A longer run is encoded: without a fold it would exceed the limit. */
const MAX_RUN = 700

/** Line breaks with the white space behind them, and every other control character. */
const BREAKS = /[\r\n][\r\n\t ]*/g
const CONTROLS = /\p{Cc}/gu
const ASCII = /\p{ASCII}+/gu
const PRINTABLE = /^[ -~]*$/

/** RFC 5322 §3.2.3: words of atext, single spaces between them, need no quotes. */
const PHRASE = /^[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]+(?: [A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]+)*$/
/** The form of nearly every address, which needs no parser. */
const PLAIN_ADDRESS = /^[A-Za-z0-9._+=-]{1,64}@[a-z0-9.-]{1,253}$/

/** RFC 2047 §2: an encoded word is at most 75 characters long, with charset, encoding, encoded text and delimiters. */
const MAX_WORD = 75
/** The smallest first word worth starting beside a long field name. */
const MIN_FIRST_WORD = 30
/** The width of the first word of a name, beside the longest of our address fields. */
const NAME_WIDTH = WIDTH - 'Reply-To: '.length
const Q_START = '=?UTF-8?Q?'
const B_START = '=?UTF-8?B?'
const WORD_END = '?='
const OVERHEAD = Q_START.length + WORD_END.length
/** RFC 2047 §5 (3), the strictest of its lists, which is right wherever a word may stand. */
const Q_SAFE = /^[A-Za-z0-9!*+/-]$/
const VALID_WORD = /^=\?[\w.+-]{1,40}(?:\*[\w-]{1,20})?\?[bq]\?[!->@-~]+\?=$/i

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
 * Removes everything that could end a header line: line breaks and tabs become a space, other control characters are
 * dropped.
 */
export function cleanText(text: string): string {
  if (PRINTABLE.test(text)) return text.trim()
  return text.replace(BREAKS, ' ').replaceAll('\t', ' ').replace(CONTROLS, '').toWellFormed().trim()
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

/**
 * True if clean text needs no encoding in a header: ASCII, nothing that only looks like an encoded word, no run too
 * long to fold.
 */
export function isPlain(text: string): boolean {
  if (!PRINTABLE.test(text)) return false
  if (text.length > MAX_RUN && (text.match(/ *[^ ]+/g) ?? []).some((run) => run.length > MAX_RUN)) return false
  return (
    !text.includes('=?') ||
    text.split(' ').every((word) => !word.includes('=?') || (word.length <= MAX_WORD && VALID_WORD.test(word)))
  )
}

/**
 * Clean text as encoded words with a space between them. `firstWordWidth`: how many characters the first may use of
 * its line.
 */
export function encodeWords(text: string, firstWordWidth: number): string {
  const octets = Buffer.byteLength(text)
  const foreign = Buffer.byteLength(text.replace(ASCII, ''))
  const isQ = foreign * 2 <= octets
  const first = Math.max(MIN_FIRST_WORD, Math.min(firstWordWidth, MAX_WORD)) - OVERHEAD
  const encode = (chunk: string): string =>
    (isQ ? Q_START + quote(chunk) : B_START + Buffer.from(chunk).toString('base64')) + WORD_END
  return cutForWords(text, first, isQ).map(encode).join(' ')
}

/** Pieces of whole characters that fit into their words when they are encoded. */
function cutForWords(text: string, first: number, isQ: boolean): string[] {
  const pieces: string[] = []
  let piece = ''
  let used = 0
  let limit = isQ ? first : octetsIn(first)
  for (const c of text) {
    const size = isQ ? quotedLength(c) : Buffer.byteLength(c)
    if (used + size > limit && piece !== '') {
      pieces.push(piece)
      piece = ''
      used = 0
      limit = isQ ? MAX_WORD - OVERHEAD : octetsIn(MAX_WORD - OVERHEAD)
    }
    piece += c
    used += size
  }
  pieces.push(piece)
  return pieces
}

/** Octets that base64 puts into so many characters. */
function octetsIn(characters: number): number {
  return Math.floor(characters / 4) * 3
}

function quotedLength(c: string): number {
  return c === ' ' || Q_SAFE.test(c) ? 1 : Buffer.byteLength(c) * 3
}

function quote(text: string): string {
  let quoted = ''
  for (const c of text) {
    if (c === ' ') quoted += '_'
    else if (Q_SAFE.test(c)) quoted += c
    else for (const octet of Buffer.from(c)) quoted += `=${octet.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return quoted
}
