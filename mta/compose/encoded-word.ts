/**
 * Header text beyond printable ASCII as RFC 2047 encoded words: each at most 75 characters,
 * none cut inside of a character, Q where most of it is ASCII, else B. Pure; linear; never throws.
 */

/** RFC 2047 §2: an encoded word is at most 75 characters long, with charset, encoding, encoded text and delimiters. */
const MAX_WORD = 75
const Q_START = '=?UTF-8?Q?'
const B_START = '=?UTF-8?B?'
const END = '?='
const OVERHEAD = Q_START.length + END.length
/** The smallest first word worth starting beside a long field name. */
const MIN_FIRST_WORD = 30
/** RFC 2047 §5 (3), the strictest of its lists, which is right in every place a word may stand. */
const Q_SAFE = /^[A-Za-z0-9!*+/-]$/
/** One valid encoded word. */
const VALID = /^=\?[\w.+-]{1,40}(?:\*[\w-]{1,20})?\?[bq]\?[!->@-~]+\?=$/i
/** A longer run without a fold would exceed the 998 octets of RFC 5322 §2.1.1. */
const MAX_RUN = 700
/** Line breaks with the white space behind them, and every other control character. */
const BREAKS = /[\r\n][\r\n\t ]*/g
const CONTROLS = /\p{Cc}/gu
const ASCII = /\p{ASCII}+/gu
const PRINTABLE = /^[ -~]*$/

/**
 * Removes everything that could end a header line: line breaks and tabs become a space, other control characters are
 * dropped.
 */
export function cleanText(text: string): string {
  if (PRINTABLE.test(text)) return text.trim()
  return text.replace(BREAKS, ' ').replaceAll('\t', ' ').replace(CONTROLS, '').toWellFormed().trim()
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
    text.split(' ').every((word) => !word.includes('=?') || (word.length <= MAX_WORD && VALID.test(word)))
  )
}

/**
 * Clean text as encoded words with a space between them. `firstWordWidth`: how many characters the first may use of
 * its line.
 */
export function encodeWords(text: string, firstWordWidth = MAX_WORD): string {
  const octets = Buffer.byteLength(text)
  const foreign = Buffer.byteLength(text.replace(ASCII, ''))
  const isQ = foreign * 2 <= octets
  const first = Math.max(MIN_FIRST_WORD, Math.min(firstWordWidth, MAX_WORD)) - OVERHEAD
  const encode = (chunk: string): string =>
    (isQ ? Q_START + quote(chunk) : B_START + Buffer.from(chunk).toString('base64')) + END
  return chunks(text, first, isQ).map(encode).join(' ')
}

/** Pieces of whole characters, each fitting its word when it is encoded. */
function chunks(text: string, first: number, isQ: boolean): string[] {
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
