/**
 * A mail as it was handed in, read as far as it must be: who it is from, what it is called, whom it names, which options it carries. Only
 * the header is looked at; the body is not parsed at all. What goes out are the octets that came, less Bcc and our own fields, with
 * Received in front and the Date and Message-ID that a mail must have (RFC 6409 8) behind the header where there are none.
 */
import type { HeaderField } from '#mta/compose/draft.ts'
import { splitMessage } from '#mta/compose/message.ts'
import { parseMailbox, splitMailboxes, type Mailbox } from '#src/mail/address.ts'
import { decodeWords, decodeHeaderText, decodeOctets } from '#src/mail/header-text.ts'
import { contentError, ReplyError } from '#mta/smtp-server/reply.ts'
import { isOption, type MailOptions, readOptions } from './options.ts'

export interface SubmittedMessage {
  readonly fields: readonly HeaderField[]
  readonly body: Buffer
  /** All of From, at least one. */
  readonly authors: readonly [Mailbox, ...Mailbox[]]
  /** Only what could be read. */
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
/** Of a list of recipients that is only shown. */
const MAX_LIST_OCTETS = 32 * 1024

/** @throws a Reply. */
export function parseSubmittedMessage(octets: Buffer): SubmittedMessage {
  const { fields, head, body } = splitMessage(octets)
  if (head.length > MAX_HEAD_OCTETS || fields.length > MAX_FIELDS) throw new ReplyError(552, '5.3.4 The header is too large')
  if (fields.filter(({ name }) => name === 'received').length > MAX_HOPS)
    throw new ReplyError(554, '5.4.6 The mail goes in circles')
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

/** RFC 5322 3.6: From stands once. Every author counts: whose name a reader is shown is the reader's program to choose. */
function readAuthors(fields: readonly HeaderField[]): SubmittedMessage['authors'] {
  const [from, ...others] = fields.filter(({ name }) => name === 'from')
  if (from === undefined) throw contentError('The mail has no From')
  if (others.length > 0) throw contentError('The mail has more than one From')
  const read = splitMailboxes(plainText(valueOf(from))).map((piece) => parseMailbox(piece))
  const wrong = read.find((one) => !one.ok)
  if (wrong?.ok === false) throw contentError(`From cannot be read: ${wrong.reason}`)
  const [first, ...rest] = read.flatMap((one) => (one.ok ? [decodedMailbox(one.mailbox)] : []))
  if (first === undefined) throw contentError('From is empty')
  return [first, ...rest]
}

function readList(fields: readonly HeaderField[], wanted: 'to' | 'cc'): Mailbox[] {
  const text = fields
    .filter(({ name }) => name === wanted)
    .map((field) => plainText(valueOf(field).slice(0, MAX_LIST_OCTETS)))
    .join(', ')
  return splitMailboxes(text)
    .slice(0, MAX_LISTED)
    .flatMap((piece) => {
      const read = parseMailbox(piece)
      return read.ok ? [decodedMailbox(read.mailbox)] : []
    })
}

function decodedMailbox({ email, name }: Mailbox): Mailbox {
  return {
    email,
    name: name === null ? null : decodeHeaderText(Buffer.from(decodeWords(name)).toString('latin1')) || null,
  }
}

function valueOf(field: HeaderField | undefined): string {
  return field === undefined ? '' : field.line.slice(field.line.indexOf(':') + 1)
}

/** Unfolded, without comments (RFC 5322 3.2.2), as characters. */
function plainText(value: string): string {
  const text = decodeOctets(value.replaceAll(/\r?\n/g, '').replaceAll('\t', ' '))
  return text.includes('(') ? withoutComments(text) : text
}

function withoutComments(text: string): string {
  let result = ''
  let depth = 0
  let isQuoted = false
  for (let i = 0; i < text.length; i++) {
    const c = text.charAt(i)
    if (c === '\\') {
      if (depth === 0) result += text.slice(i, i + 2)
      i++
      continue
    }
    if (c === '"' && depth === 0) isQuoted = !isQuoted
    if (c === '(' && !isQuoted) depth++
    if (depth === 0) result += c
    if (c === ')' && depth > 0) depth--
  }
  return result
}

/** Resent-Bcc is the Bcc of who sent it on (RFC 5322 3.6.6). */
const HIDDEN: ReadonlySet<string> = new Set(['bcc', 'resent-bcc'])

/** Who adds to the mail, and when. */
export interface TraceFields {
  /** A whole field. */
  readonly received: string
  readonly date: string
  /** With angle brackets. */
  readonly messageId: string
}

/** The mail as it goes out, before its signatures. */
export function buildSubmittedMessage({ fields, body }: Pick<SubmittedMessage, 'fields' | 'body'>, trace: TraceFields): Buffer {
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
