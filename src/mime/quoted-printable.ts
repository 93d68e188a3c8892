/**
 * Quoted-printable (RFC 2045 §6.7) of text whose lines end in CRLF. Beyond the standard,
 * "From " at the start of a line is encoded, so that no mailbox file on the way puts a ">" before it.
 *
 * Works on a string with one character per octet and with searches of the runtime: a loop over the octets takes several
 * times as long. A test compares it with such a loop. Time is linear in the length.
 */
const MAX_LINE = 76
const TAB = 9
const SPACE = 32
const EQUALS = 61
const LETTER_F = 70
const FROM = 'From '
const ENCODED_F = '=46'
const LINE_END = '\r\n'
/** Octets that do not stand for themselves, but for "=". */
const ENCODED = /[^\t\r\n -~]/g
const HEX = Array.from({ length: 256 }, (_, c) => `=${c.toString(16).toUpperCase().padStart(2, '0')}`)

export function encodeQuotedPrintable(text: Buffer): string {
  const octets = text.toString('latin1').replaceAll('=', '=3D').replace(ENCODED, hexOf)
  let out = ''
  let copied = 0
  for (let from = 0; from < octets.length;) {
    const end = octets.indexOf(LINE_END, from)
    const to = end < 0 ? octets.length : end
    const first = octets.charCodeAt(from)
    const last = octets.charCodeAt(to - 1)
    const mayChange = to - from > MAX_LINE || first === LETTER_F || last === SPACE || last === TAB
    if (mayChange && to > from) {
      out += octets.slice(copied, from) + encodeLine(octets.slice(from, to))
      copied = to
    }
    from = to + LINE_END.length
  }
  return copied === 0 ? octets : out + octets.slice(copied)
}

function hexOf(octet: string): string {
  return HEX[octet.charCodeAt(0)] ?? ''
}

/** Encodes white space at the end, and divides a long line with soft breaks, but never within an octet. */
function encodeLine(octets: string): string {
  const last = octets.charCodeAt(octets.length - 1)
  const isSpaceLast = last === SPACE || last === TAB
  const line = isSpaceLast ? octets.slice(0, -1) + (HEX[last] ?? '') : octets
  let out = ''
  for (let from = 0; ;) {
    const isFrom = octets.startsWith(FROM, from)
    const start = isFrom ? ENCODED_F : ''
    if (isFrom) from++
    if (start.length + line.length - from <= MAX_LINE) return out + start + line.slice(from)
    let to = from + MAX_LINE - 1 - start.length
    if (line.charCodeAt(to - 1) === EQUALS) to -= 1
    else if (line.charCodeAt(to - 2) === EQUALS) to -= 2
    out += `${start}${line.slice(from, to)}=${LINE_END}`
    from = to
  }
}
