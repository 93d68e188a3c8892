/**
 * Parses SMTP replies from a byte stream: a three-digit code, an optional enhanced code, and text on one or more lines
 * (RFC 5321 4.2, RFC 3463).
 *
 * The result does not depend on how the stream is split into chunks, and a reply is returned only when its last line is
 * complete. Of a long reply the first 64 KB count, and the rest is discarded: its code says what became of the message.
 * Bytes that are not a reply, and a reply that does not end within 4 MB, are an error. An error is final for the
 * connection, because the start of the next reply is not known.
 */

/** A complete reply. `text` has all lines in one without the codes; control characters are replaced by U+FFFD. */
export interface Reply {
  /** 200 to 599. */
  readonly code: number
  /**
   * As the server sent it, for example `5.1.1`. Its class may contradict `code`; the classifier decides which counts.
   */
  readonly enhanced: string | null
  readonly text: string
  /** The lines as received, without line ends. */
  readonly lines: readonly string[]
}

/**
 * Maximum bytes of a reply that are stored, all lines. RFC 5321 4.5.3.1.5 asks for 512 a line; EHLO replies and
 * policies are longer.
 */
export const MAX_REPLY_BYTES = 65_536
/** Maximum bytes of a reply that are read. */
const MAX_READ_BYTES = 4 * 1024 * 1024
/** The code and the character after it, which are read of every line. */
const HEAD_BYTES = 4

const TOO_LONG = `a reply of more than ${MAX_READ_BYTES} bytes`

const LF = 10
const CR = 13
const SPACE = 32
const HYPHEN = 45
const ZERO = 48
const NINE = 57
const DOT = 46

/** A reply composed by this server, in place of one from the receiver. */
export function composeReply(code: number, enhanced: string, text: string): Reply {
  return { code, enhanced, text, lines: [`${code} ${enhanced} ${text}`] }
}

/** Begins the line of a conversation about a message that was not sent, because the server would refuse it. */
export const LOCAL_REFUSAL = '-- rejected locally, without asking the server'

/** The reply on one line, for logs and events: `550 5.1.1 no such user`. */
export function formatReply(reply: Reply): string {
  return [reply.code, reply.enhanced, reply.text].filter(Boolean).join(' ')
}

/** Splits a byte stream into replies. Use one reader per connection. */
export class ReplyReader {
  #rest: Buffer | null = null
  #lines: string[] = []
  /** Bytes of the complete lines of this reply. */
  #bytes = 0
  /** Bytes of the incomplete line that were discarded. */
  #discarded = 0
  #stored = 0
  #fault: string | null = null

  /** Whether an incomplete reply is buffered. */
  get isMidReply(): boolean {
    return this.#rest !== null || this.#lines.length > 0
  }

  /**
   * Parses the next bytes and calls `onReply` for each complete reply. The caller may reuse the chunk afterwards.
   * @returns null, or the error in one line. After an error, every call returns the same error.
   */
  push(chunk: Buffer, onReply: (reply: Reply) => void): string | null {
    if (this.#fault !== null) return this.#fault
    const searched = this.#rest?.length ?? 0
    const bytes = this.#rest === null ? chunk : Buffer.concat([this.#rest, chunk])
    this.#rest = null
    let start = 0
    let end = bytes.indexOf(LF, searched)
    while (end >= 0 && this.#fault === null) {
      this.#fault = this.#takeLine(bytes, start, end, onReply)
      start = end + 1
      end = bytes.indexOf(LF, start)
    }
    if (this.#bytes + this.#discarded + bytes.length - start > MAX_READ_BYTES) this.#fault ??= TOO_LONG
    if (this.#fault !== null) this.#lines = []
    else if (start < bytes.length) this.#keepRest(bytes.subarray(start))
    return this.#fault
  }

  /** Bytes of the next line that count. */
  get #room(): number {
    return Math.max(MAX_REPLY_BYTES - this.#stored, HEAD_BYTES)
  }

  /** The start of an incomplete line, as far as it can be part of the reply. */
  #keepRest(rest: Buffer): void {
    this.#rest = Buffer.from(rest.subarray(0, this.#room))
    this.#discarded += rest.length - this.#rest.length
  }

  #takeLine(bytes: Buffer, start: number, lineFeed: number, onReply: (reply: Reply) => void): string | null {
    const end = lineFeed > start && bytes[lineFeed - 1] === CR ? lineFeed - 1 : lineFeed
    this.#bytes += lineFeed + 1 - start + this.#discarded
    this.#discarded = 0
    if (this.#bytes > MAX_READ_BYTES) return TOO_LONG
    const isFull = this.#stored >= MAX_REPLY_BYTES
    const cut = Math.min(end, start + this.#room)
    const line = decode(bytes, start, cut)
    if (!isReplyLine(line)) return `not an SMTP reply: ${JSON.stringify(line.slice(0, 200))}`
    const first = this.#lines[0]
    if (first !== undefined && !line.startsWith(first.slice(0, 3)))
      return `a reply that changes its code: ${JSON.stringify(line.slice(0, 200))}`
    if (!isFull) this.#lines.push(line)
    this.#stored += cut - start
    if (line.charCodeAt(3) === HYPHEN) return null
    const reply = assemble(this.#lines)
    this.#lines = []
    this.#bytes = 0
    this.#stored = 0
    onReply(reply)
    return null
  }
}

/**
 * Three digits, the first 2 to 5, then a space, a hyphen or the end. Any second digit is accepted: 571 and 583 exist.
 */
function isReplyLine(line: string): boolean {
  const first = line.charCodeAt(0) - ZERO
  if (!(first >= 2 && first <= 5 && isDigit(line.charCodeAt(1)) && isDigit(line.charCodeAt(2)))) return false
  const separator = line.charCodeAt(3)
  return line.length === 3 || separator === SPACE || separator === HYPHEN
}

function isDigit(char: number): boolean {
  return char >= ZERO && char <= NINE
}

/** Most lines are printable ASCII and are decoded as Latin-1. RFC 6531 3.7.4 allows UTF-8 in replies. */
function decode(bytes: Buffer, start: number, end: number): string {
  let isPlain = true
  for (let i = start; i < end && isPlain; i++) {
    const byte = bytes[i] ?? 0
    isPlain = byte >= SPACE && byte < 127
  }
  if (isPlain) return bytes.toString('latin1', start, end)
  // PostgreSQL and logs cannot store NUL, and must not get terminal escape sequences
  return bytes.toString('utf8', start, end).replaceAll(/(?!\t)\p{Cc}/gu, '\u{fffd}')
}

function assemble(lines: readonly string[]): Reply {
  let enhanced: string | null = null
  let text = ''
  for (const line of lines) {
    const length = measureEnhanced(line, 4)
    if (length > 0) enhanced ??= line.slice(4, 4 + length)
    const rest = line.slice(4 + length).trim()
    text = text === '' || rest === '' ? text + rest : `${text} ${rest}`
  }
  return { code: Number(lines[0]?.slice(0, 3)), enhanced, text, lines }
}

/**
 * The length of the enhanced code at `start`, 0 if there is none: class 2, 4 or 5, two numbers of up to three digits,
 * then a space or the end (RFC 3463 2).
 */
function measureEnhanced(line: string, start: number): number {
  const kind = line.charCodeAt(start) - ZERO
  if (kind !== 2 && kind !== 4 && kind !== 5) return 0
  const subject = measureNumber(line, start + 1)
  const detail = subject && measureNumber(line, start + 1 + subject)
  const end = start + 1 + subject + detail
  return detail > 0 && (end === line.length || line.charCodeAt(end) === SPACE) ? end - start : 0
}

/** The length of a dot and one to three digits at `at`, otherwise 0. */
function measureNumber(line: string, at: number): number {
  if (line.charCodeAt(at) !== DOT) return 0
  let end = at + 1
  while (end - at <= 3 && isDigit(line.charCodeAt(end))) end++
  return end === at + 1 ? 0 : end - at
}
