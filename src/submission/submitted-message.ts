/**
 * Parses a complete message, by SMTP or by HTTP, as far as needed: its authors, subject, recipients and options. Only
 * the header is parsed, never the body. The message goes out with its original octets, without Bcc and the option
 * fields, with Received at the top, and with Date and Message-ID (RFC 6409 8) at the end of the header if they are
 * missing.
 */
import { parseMailbox, splitMailboxes, type Mailbox } from '#src/mail/address.ts'
import { decodedMailbox, fieldText, valueOf } from '#src/mail/field-value.ts'
import { decodeHeaderText } from '#src/mail/header-text.ts'
import { type HeaderField, splitMessage } from '#src/mail/split-message.ts'
import { isOption, type MailOptions, readOptions } from './options.ts'
import { contentError, SubmissionError } from './submission-error.ts'

export interface SubmittedMessage {
  readonly fields: readonly HeaderField[]
  readonly body: Buffer
  /** All addresses of From, at least one. */
  readonly authors: readonly [Mailbox, ...Mailbox[]]
  /** Only the addresses that could be parsed. */
  readonly to: readonly Mailbox[]
  readonly cc: readonly Mailbox[]
  readonly subject: string
  readonly options: MailOptions
}

const MAX_HEAD_OCTETS = 512 * 1024
const MAX_FIELDS = 1000
/** RFC 5321 6.3: at least 100. */
const MAX_HOPS = 100
const MAX_LISTED = 100
/** Octets parsed of To and Cc, which are only displayed. */
const MAX_LIST_OCTETS = 32 * 1024

/** @throws SubmissionError. */
export function parseSubmittedMessage(octets: Buffer): SubmittedMessage {
  if (!hasBoundedHead(octets)) throw HEAD_TOO_LARGE
  const { fields, body } = splitMessage(octets)
  if (fields.length > MAX_FIELDS) throw HEAD_TOO_LARGE
  if (fields.filter(({ name }) => name === 'received').length > MAX_HOPS)
    throw new SubmissionError('loop', 'Mail loop: too many Received fields')
  return {
    fields,
    body,
    authors: readAuthors(fields),
    to: readList(fields, 'to'),
    cc: readList(fields, 'cc'),
    subject: decodeHeaderText(valueOf(fields.find(({ name }) => name === 'subject'))),
    options: readOptions(fields),
  }
}

const HEAD_TOO_LARGE = new SubmissionError('too-large', 'The header is too large')

/** Checked before the header is split: a message of megabytes may have no body. */
function hasBoundedHead(octets: Buffer): boolean {
  if (octets.length <= MAX_HEAD_OCTETS) return true
  return octets.subarray(0, MAX_HEAD_OCTETS).includes('\r\n\r\n') || octets.subarray(0, 2).equals(LINE_END)
}

const LINE_END = Buffer.from('\r\n')

/** RFC 5322 3.6: From appears once. Every author is checked: the mail client chooses which one it displays. */
function readAuthors(fields: readonly HeaderField[]): SubmittedMessage['authors'] {
  const [from, ...others] = fields.filter(({ name }) => name === 'from')
  if (from === undefined) throw contentError('The message has no From')
  if (others.length > 0) throw contentError('The message has more than one From')
  const read = splitMailboxes(fieldText(from)).map((piece) => parseMailbox(piece))
  const wrong = read.find((one) => !one.ok)
  if (wrong?.ok === false) throw contentError(`From cannot be parsed: ${wrong.reason}`)
  const [first, ...rest] = read.flatMap((one) => (one.ok ? [decodedMailbox(one.mailbox)] : []))
  if (first === undefined) throw contentError('From is empty')
  return [first, ...rest]
}

function readList(fields: readonly HeaderField[], wanted: 'to' | 'cc'): Mailbox[] {
  const text = fields
    .filter(({ name }) => name === wanted)
    .map((field) => fieldText(field, MAX_LIST_OCTETS))
    .join(', ')
  return splitMailboxes(text)
    .slice(0, MAX_LISTED)
    .flatMap((piece) => {
      const read = parseMailbox(piece)
      return read.ok ? [decodedMailbox(read.mailbox)] : []
    })
}

/** Resent-Bcc is the Bcc of a resent message (RFC 5322 3.6.6). */
const HIDDEN: ReadonlySet<string> = new Set(['bcc', 'resent-bcc'])

/** The fields that the server adds. */
export interface TraceFields {
  /** A complete field. */
  readonly received: string
  readonly date: string
  /** With angle brackets. */
  readonly messageId: string
}

/** The message as it goes out, before its signatures. */
export function buildSubmittedMessage(
  { fields, body }: Pick<SubmittedMessage, 'fields' | 'body'>,
  trace: TraceFields,
): Buffer {
  let head = trace.received
  for (const { name, line } of fields) if (!HIDDEN.has(name) && !isOption(name)) head += line
  if (!head.endsWith('\r\n')) head += '\r\n'
  if (!fields.some(({ name }) => name === 'date')) head += `Date: ${trace.date}\r\n`
  if (!fields.some(({ name }) => name === 'message-id')) head += `Message-ID: ${trace.messageId}\r\n`
  head += '\r\n'
  const octets = Buffer.allocUnsafe(head.length + body.length)
  octets.write(head, 'latin1')
  body.copy(octets, head.length)
  return octets
}
