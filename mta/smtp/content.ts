/**
 * A message's bytes as they go over the wire: dots doubled at the start of lines
 * (RFC 5321 4.5.2), and the mark that ends the message.
 * Promises: what the server has after taking the doubled dots out again is what
 * was given; nothing inside a message can be read as its end, not even by a
 * server that takes a bare LF for a line end.
 */
const DOT = 46
const CR = 13
const LF = 10
const DOT_LINE = Buffer.from('\n.')
const END = Buffer.from('.\r\n')
const END_AFTER_LINE_BREAK = Buffer.from('\r\n.\r\n')

/** The bytes with dots doubled; the same buffer, uncopied, where no line starts with one. */
export function doubleDots(data: Buffer): Buffer {
  let found = data.indexOf(DOT_LINE)
  const startsWithDot = data[0] === DOT
  if (found < 0 && !startsWithDot) return data
  const pieces: Buffer[] = startsWithDot ? [data.subarray(0, 1)] : []
  let taken = 0
  while (found >= 0) {
    pieces.push(data.subarray(taken, found + 2))
    taken = found + 1
    found = data.indexOf(DOT_LINE, taken + 1)
  }
  pieces.push(data.subarray(taken))
  return Buffer.concat(pieces)
}

/** The end-of-message mark: CRLF.CRLF, less the first CRLF where the message ends with one. */
export function endMark(data: Buffer): Buffer {
  const { length } = data
  const endsLine = length === 0 || (data[length - 1] === LF && data[length - 2] === CR)
  return endsLine ? END : END_AFTER_LINE_BREAK
}
