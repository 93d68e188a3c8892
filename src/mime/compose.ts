/**
 * Composes a stored message as it goes over the wire: a header, with its fields in order, and a body, which `sign.ts`
 * signs. It uses no clock and no random values: the same draft always gives the same octets, so a retry repeats the
 * exact message and not only its meaning.
 */
import { isUtf8 } from 'node:buffer'
import { parseMailbox, splitMailboxes } from '#src/mail/address.ts'
import type { Mailbox } from '#src/mail/address.ts'
import { joinPieces, joinReady } from './body-pieces.ts'
import { InvalidDraftError } from './draft.ts'
import type { Composed, Draft } from './draft.ts'
import { cleanText, encodeText, formatMailbox, formatMailboxes, makeField } from './field.ts'
import { type HeaderField, splitMessage } from '#src/mail/split-message.ts'
import { buildContent } from './mime-tree.ts'
import { bodyTextsOf, writeContent } from './mime-writer.ts'

const HEX_ID = /^[0-9a-f]{32}$/
/** RFC 5322 §2.2: printable ASCII without the colon; the length is ours. */
const FIELD_NAME = /^[!-9;-~]{1,76}$/
/** Fields written by Mailstead or by relays. A custom field with such a name is left out. */
const OWNED: ReadonlySet<string> = new Set([
  'from',
  'to',
  'cc',
  'bcc',
  'resent-bcc',
  'subject',
  'date',
  'message-id',
  'mime-version',
  'received',
  'return-path',
  'dkim-signature',
])
const OWNED_PREFIX = 'content-'
/** Custom fields that hold mailboxes: a name in them is encoded, the address is not. */
const HOLDS_MAILBOXES: ReadonlySet<string> = new Set([
  'sender',
  'reply-to',
  'disposition-notification-to',
  'return-receipt-to',
  'errors-to',
])
/** RFC 5322 §3.4: the empty group, for mail with Bcc recipients only. */
const NO_RECIPIENTS = 'undisclosed-recipients:;'

/**
 * Writes messages of texts and messages with attachments; a raw draft passes through.
 * @throws InvalidDraftError where no message can be made; its text begins with the invalid field.
 */
export async function compose(draft: Draft): Promise<Composed> {
  if (draft.raw !== null) return passThrough(draft.raw)
  if (draft.attachments.length === 0) return composeTexts(draft)
  const header = writeHeader(draft)
  const { fields, pieces } = buildContent(bodyTextsOf(draft), draft.attachments, hexOf(draft))
  const described = describe([...header, ...fields])
  return { ...described, ...(await joinPieces(pieces, described.head.length)) }
}

/** Composes a draft of texts only. @throws InvalidDraftError */
export function composeTexts(draft: Draft): Composed {
  const header = writeHeader(draft)
  const { fields, pieces } = writeContent(bodyTextsOf(draft), hexOf(draft))
  const described = describe([...header, ...fields])
  return { ...described, ...joinReady(pieces, described.head.length) }
}

/** All fields except those that describe the body (Content-*). @throws InvalidDraftError */
function writeHeader(draft: Draft): HeaderField[] {
  const from = formatMailbox(draft.from, 'from')
  const domain = from.slice(from.lastIndexOf('@') + 1).replace('>', '')
  const fields = [makeField('From', from), ...writeRecipients(draft)]
  if (draft.replyTo !== null) fields.push(makeField('Reply-To', formatMailbox(draft.replyTo, 'replyTo')))
  const subject = encodeText('Subject', draft.subject)
  if (subject !== '') fields.push(makeField('Subject', subject))
  fields.push(makeField('Date', formatDate(draft.createdAt)), makeField('Message-ID', `<${hexOf(draft)}@${domain}>`))
  for (const [name, value] of draft.headers) {
    const field = writeCustomField(name, value, draft.replyTo !== null)
    if (field !== null) fields.push(field)
  }
  fields.push({ name: 'mime-version', line: 'MIME-Version: 1.0\r\n' })
  return fields
}

function writeRecipients(draft: Draft): HeaderField[] {
  const fields: HeaderField[] = []
  if (draft.to.length > 0) fields.push(makeField('To', formatMailboxes(draft.to, 'to')))
  else if (draft.cc.length === 0) fields.push(makeField('To', NO_RECIPIENTS))
  if (draft.cc.length > 0) fields.push(makeField('Cc', formatMailboxes(draft.cc, 'cc')))
  return fields
}

function writeCustomField(name: string, value: string, hasReplyTo: boolean): HeaderField | null {
  if (!FIELD_NAME.test(name))
    throw new InvalidDraftError('headers', `"${cleanText(name).slice(0, 76)}" is not a header field name`)
  const key = name.toLowerCase()
  if (OWNED.has(key) || key.startsWith(OWNED_PREFIX) || (hasReplyTo && key === 'reply-to')) return null
  const text = (HOLDS_MAILBOXES.has(key) ? encodeMailboxes(value) : null) ?? encodeText(name, value)
  return text === '' ? null : makeField(name, text)
}

/** Encodes the text as a list of mailboxes; null if it is no such list. */
function encodeMailboxes(text: string): string | null {
  const mailboxes: Mailbox[] = []
  for (const piece of splitMailboxes(cleanText(text))) {
    const parsed = parseMailbox(piece)
    if (!parsed.ok) return null
    mailboxes.push(parsed.mailbox)
  }
  return formatMailboxes(mailboxes, 'headers')
}

/** RFC 5322 §3.3, in UTC. */
function formatDate(date: Date): string {
  if (Number.isNaN(date.getTime())) throw new InvalidDraftError('createdAt', 'it is not a time')
  return date.toUTCString().replace('GMT', '+0000')
}

/** The message's id as 32 hex digits. @throws InvalidDraftError */
function hexOf(draft: Draft): string {
  const hex = draft.messageId.replaceAll('-', '').toLowerCase()
  if (!HEX_ID.test(hex)) throw new InvalidDraftError('messageId', 'it is not a UUID')
  return hex
}

function describe(fields: readonly HeaderField[]): Omit<Composed, 'body' | 'room'> {
  let head = ''
  for (const field of fields) head += field.line
  return { fields, head: `${head}\r\n`, needsSmtputf8: holdsUtf8(head) }
}

function passThrough(raw: Buffer): Composed {
  const message = splitMessage(raw)
  return { ...message, needsSmtputf8: holdsUtf8(message.head) }
}

/**
 * Whether a header, one character per octet, is UTF-8 beyond ASCII. Other octets (Latin-1, in mail from clients) were
 * never allowed, are accepted everywhere, and do not need RFC 6531.
 */
function holdsUtf8(head: string): boolean {
  const isAscii = Buffer.byteLength(head) === head.length // beyond ASCII a character takes two octets
  return !isAscii && isUtf8(Buffer.from(head, 'latin1'))
}
