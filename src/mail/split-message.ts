/**
 * Splits a complete message into header fields and body, without changing an octet. Lines may end in CRLF or in LF
 * (mail from clients); a message without an empty line is all header.
 */
/** One header field as it goes over the wire. */
export interface HeaderField {
  /** Lower case; '' for a line that is no field. */
  readonly name: string
  /** Folded, with its line end. One character per octet: UTF-8 in it is already bytes. */
  readonly line: string
}

export interface SplitMessage {
  readonly fields: readonly HeaderField[]
  /** Includes the empty line that ends it, if there is one; one character per octet. */
  readonly head: string
  readonly body: Buffer
}

const CR = 13
const LF = 10

export function splitMessage(bytes: Buffer): SplitMessage {
  const fields = []
  let at = 0
  while (at < bytes.length) {
    const end = lineEnd(bytes, at)
    if (isEmptyLine(bytes, at)) {
      at = end
      break
    }
    const next = foldedEnd(bytes, end)
    fields.push(readField(bytes.toString('latin1', at, next)))
    at = next
  }
  return { fields, head: bytes.toString('latin1', 0, at), body: bytes.subarray(at) }
}

function isEmptyLine(bytes: Buffer, at: number): boolean {
  return bytes[at] === LF || (bytes[at] === CR && bytes[at + 1] === LF)
}

function lineEnd(bytes: Buffer, at: number): number {
  const end = bytes.indexOf(LF, at)
  return end < 0 ? bytes.length : end + 1
}

/** The end of the folded field whose first line ends at `end`: continuation lines start with white space. */
function foldedEnd(bytes: Buffer, end: number): number {
  let at = end
  while (bytes[at] === 0x20 || bytes[at] === 0x09) at = lineEnd(bytes, at)
  return at
}

/**
 * White space before the colon is not part of the name (RFC 5322 §4.5.8); only space, tab and folds are white space.
 */
function readField(line: string): HeaderField {
  const colon = line.indexOf(':')
  let end = Math.max(colon, 0)
  while (end > 0 && ' \t\r\n'.includes(line.charAt(end - 1))) end--
  return { name: line.slice(0, end).toLowerCase(), line }
}
