/**
 * Reads received mail: its parts (mailparser), authentication and spam verdict. Long texts and lists are truncated; the
 * stored source has all of it. Runs in a thread that may be killed (received-mail-thread.ts), because the mail is
 * hostile until proven otherwise. Nothing in attachments is unpacked.
 */
import { type AddressObject, type Attachment, type ParsedMail, simpleParser } from 'mailparser'
import { decodeHeaderText } from '#src/mail/header-text.ts'
import { splitMessage } from '#src/mail/split-message.ts'
import type {
  MailAddress,
  ReceivedAttachment,
  ReceivedContent,
  ReceivedParts,
} from '#src/inbound-mail/received-content.ts'
import { judgeSpam } from '#src/inbound-mail/spam-rules.ts'
import type { SpamFilter } from './spam-filter.ts'
import { type AuthenticatedMail, type AuthenticationDeps, authenticateMail } from './mail-authentication.ts'

export interface ParsedAttachment {
  readonly filename: string | null
  readonly contentType: string
  readonly content: Uint8Array
}

export interface ParsedEmail {
  readonly content: ReceivedContent
  /** In the order of `content.attachments`. */
  readonly attachments: readonly ParsedAttachment[]
}

/** Of the text, and of the HTML, in characters. */
const MAX_TEXT = 64 * 1024
const MAX_HEADERS = 200
const MAX_HEADERS_TEXT = 64 * 1024
const MAX_ADDRESSES = 100
const MAX_ATTACHMENTS = 100
/** Attachments up to this size are part of the JSON, until their sum is reached. */
const MAX_INLINE = 32 * 1024
const MAX_INLINE_SUM = 64 * 1024
const MAX_NAME = 255
/** Of a field such as the subject (RFC 5322 2.1.1). */
const MAX_LINE = 998

export interface ParseDeps extends AuthenticationDeps {
  /** SpamAssassin or rspamd; null: only the rules judge. */
  readonly filter: SpamFilter | null
}

type MailWithRecipient = AuthenticatedMail & { readonly recipient: string }

export async function parseReceivedMail(mail: MailWithRecipient, deps: ParseDeps): Promise<ParsedEmail> {
  const [parsed, authentication, filter] = await Promise.all([
    simpleParser(mail.raw, {
      skipHtmlToText: true,
      skipTextToHtml: true,
      skipTextLinks: true,
      skipImageLinks: true,
      keepDeliveryStatus: true,
    } as object),
    authenticateMail(mail, deps),
    deps.filter === null ? null : deps.filter(mail),
  ])
  const parts = partsOf(parsed, mail)
  const found = parsed.attachments.slice(0, MAX_ATTACHMENTS)
  const spam = judgeSpam({
    authentication,
    parts,
    filter,
    filenames: parsed.attachments.map(({ filename }) => filename ?? null),
  })
  return {
    content: {
      ...parts,
      is_truncated: parts.is_truncated || parsed.attachments.length > found.length,
      attachments: presentAttachments(found),
      authentication,
      spam,
    },
    attachments: found.map((one) => ({
      filename: nameOf(one.filename),
      contentType: clean(one.contentType).slice(0, MAX_NAME),
      content: one.content,
    })),
  }
}

function partsOf(parsed: ParsedMail, { raw, mailFrom }: AuthenticatedMail): ReceivedParts {
  const html = parsed.html === false ? null : parsed.html
  const headers = headersOf(raw)
  const valueOf = (name: string): string => headers.all.find((one) => one.name.toLowerCase() === name)?.value ?? ''
  return {
    from: addressesOf(parsed.from)[0] ?? null,
    to: addressesOf(parsed.to),
    cc: addressesOf(parsed.cc),
    reply_to: addressesOf(parsed.replyTo),
    subject: lineOf(parsed.subject),
    date: isoOf(valueOf('date')),
    header_message_id: lineOf(parsed.messageId),
    in_reply_to: lineOf(parsed.inReplyTo),
    references: [parsed.references ?? []]
      .flat()
      .slice(0, MAX_ADDRESSES)
      .map((id) => clean(id.slice(0, MAX_LINE))),
    headers: headers.shown,
    text: truncated(parsed.text),
    html: truncated(html),
    is_truncated:
      (parsed.text?.length ?? 0) > MAX_TEXT ||
      (html?.length ?? 0) > MAX_TEXT ||
      headers.shown.length < headers.all.length,
    is_automatic: isAutomatic(mailFrom, valueOf),
  }
}

/** RFC 3834, and what older programs write. */
function isAutomatic(mailFrom: string, valueOf: (name: string) => string): boolean {
  const submitted = valueOf('auto-submitted').toLowerCase()
  return (
    mailFrom === '' ||
    (submitted !== '' && !submitted.startsWith('no')) ||
    /^(?:bulk|junk|list|auto[_-]reply)\b/i.test(valueOf('precedence')) ||
    valueOf('list-id') !== '' ||
    /^multipart\/report\b/i.test(valueOf('content-type'))
  )
}

interface HeaderFields {
  readonly all: ReceivedParts['headers']
  readonly shown: ReceivedParts['headers']
}

function headersOf(raw: Buffer): HeaderFields {
  const { fields } = splitMessage(raw)
  const all = fields
    .filter(({ name }) => name !== '')
    .map(({ line }) => {
      const colon = line.indexOf(':')
      return { name: clean(line.slice(0, colon).trim()), value: clean(decodeHeaderText(line.slice(colon + 1)).trim()) }
    })
  let room = MAX_HEADERS_TEXT
  const end = all.findIndex(({ name, value }, i) => i === MAX_HEADERS || (room -= name.length + value.length) < 0)
  return { all, shown: end < 0 ? all : all.slice(0, end) }
}

function addressesOf(given: AddressObject | AddressObject[] | undefined): MailAddress[] {
  return [given ?? []]
    .flat()
    .flatMap(({ value }) => value)
    .flatMap((one) => one.group ?? [one])
    .filter(({ address }) => address !== undefined && address !== '')
    .slice(0, MAX_ADDRESSES)
    .map(({ address = '', name }) => ({ address: clean(address).slice(0, 320), name: nameOf(name) }))
}

function presentAttachments(attachments: readonly Attachment[]): ReceivedAttachment[] {
  let room = MAX_INLINE_SUM
  return attachments.map((one, i) => {
    const isInline = one.size <= Math.min(MAX_INLINE, room)
    if (isInline) room -= one.size
    return {
      n: i + 1,
      filename: nameOf(one.filename),
      content_type: clean(one.contentType).slice(0, MAX_NAME),
      content_id: lineOf(one.contentId?.replace(/^<|>$/g, '')),
      disposition: lineOf(one.contentDisposition),
      size: one.size,
      content_base64: isInline ? one.content.toString('base64') : null,
    }
  })
}

/** mailparser returns the present time for a date that is not valid. */
function isoOf(field: string): string | null {
  const date = new Date(field)
  return Number.isNaN(date.getTime()) ? null : date.toISOString()
}

function lineOf(text: string | undefined): string | null {
  return textOrNull(text?.slice(0, MAX_LINE))
}

function nameOf(name: string | false | undefined): string | null {
  return (
    textOrNull(name === false ? undefined : name)
      ?.slice(0, MAX_NAME)
      .toWellFormed() ?? null
  )
}

function textOrNull(text: string | null | undefined): string | null {
  return text === undefined || text === null || text === '' ? null : clean(text)
}

function truncated(text: string | null | undefined): string | null {
  return textOrNull(text?.slice(0, MAX_TEXT))
}

/** PostgreSQL stores neither NUL nor half of a surrogate pair. */
function clean(text: string): string {
  return text.replaceAll('\0', '\u{FFFD}').toWellFormed()
}
