/**
 * Dot-stuffing (RFC 5321 4.5.2) and the end-of-data mark. After the server removes the doubled dots it has the original
 * bytes. Nothing inside a message can be read as its end, not even by a server that accepts a bare LF as a line end.
 */
const DOT = 46
const CR = 13
const LF = 10
const DOT_LINE = Buffer.from('\n.')
const END = Buffer.from('.\r\n')
const END_AFTER_LINE_BREAK = Buffer.from('\r\n.\r\n')

/** The bytes with leading dots doubled; the same buffer, not copied, if no line starts with a dot. */
export function dotStuff(data: Buffer): Buffer {
  let found = data.indexOf(DOT_LINE)
  const startsWithDot = data[0] === DOT
  if (found < 0 && !startsWithDot) return data
  const pieces: Buffer[] = startsWithDot ? [data.subarray(0, 1)] : []
  let copied = 0
  while (found >= 0) {
    pieces.push(data.subarray(copied, found + 2))
    copied = found + 1
    found = data.indexOf(DOT_LINE, copied + 1)
  }
  pieces.push(data.subarray(copied))
  return Buffer.concat(pieces)
}

/** The end-of-data mark: CRLF.CRLF, without the first CRLF if the message ends with one. */
export function endOfData(data: Buffer): Buffer {
  const { length } = data
  const endsLine = length === 0 || (data[length - 1] === LF && data[length - 2] === CR)
  return endsLine ? END : END_AFTER_LINE_BREAK
}
