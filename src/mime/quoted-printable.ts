/**
 * Quoted-printable (RFC 2045 §6.7) of text whose lines end in CRLF. Beyond the standard,
 * "From " at the start of a line is encoded, so that no mailbox file on the way puts a ">" before it.
 */
const MAX_LINE = 76
const CR = 13
const LF = 10
const TAB = 9
const SPACE = 32
const EQUALS = 61
const HEX = Buffer.from('0123456789ABCDEF')
const FROM = 'From '
/** 1 for octets that stand for themselves (printable ASCII but "=", and white space inside of a line). */
const LITERAL = Uint8Array.from({ length: 256 }, (_, c) =>
  Number(c === TAB || (c >= SPACE && c <= 126 && c !== EQUALS)),
)

export function encodeQuotedPrintable(text: Buffer): string {
  const out = Buffer.allocUnsafe(Math.ceil(text.length * 3 * (1 + 3 / (MAX_LINE - 3))) + 3)
  let n = 0
  let column = 0
  for (let i = 0; i < text.length; i++) {
    const c = text[i] ?? 0
    if (c === CR && text[i + 1] === LF) {
      out[n++] = CR
      out[n++] = LF
      i++
      column = 0
      continue
    }
    const isLast = i + 1 === text.length || text[i + 1] === CR
    const isLiteral =
      LITERAL[c] === 1 && !(isLast && (c === SPACE || c === TAB)) && !(column === 0 && startsFrom(text, i))
    // One column is reserved for the "=" of a soft break, which the last octet of a line does not need.
    const size = isLiteral ? 1 : 3
    if (column + size > (isLast ? MAX_LINE : MAX_LINE - 1)) {
      out[n++] = EQUALS
      out[n++] = CR
      out[n++] = LF
      column = 0
      i--
      continue
    }
    column += size
    if (isLiteral) {
      out[n++] = c
    } else {
      out[n++] = EQUALS
      out[n++] = HEX[c >> 4] ?? 0
      out[n++] = HEX[c & 15] ?? 0
    }
  }
  return out.toString('latin1', 0, n)
}

function startsFrom(text: Buffer, at: number): boolean {
  return text[at] === FROM.charCodeAt(0) && text.toString('latin1', at, at + FROM.length) === FROM
}
