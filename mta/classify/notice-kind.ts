/**
 * Classifies a notice as a failure, a delay or an automatic reply (RFC 3834) by its header and its first words.
 */
import { decodeHeaderText } from '#src/mail/header-text.ts'
import type { DeliveryNotice } from './delivery-notice.ts'
import { type MimePart, fieldValue } from './mime.ts'
import {
  AUTO_REPLY_SUBJECT,
  OUT_OF_OFFICE_TEXT,
  CHALLENGE_RESPONSE,
  MAILER_DAEMON,
  DELAY_SUBJECT,
  DELAY_TEXT,
  FAILURE_SUBJECT,
  FAILURE_TEXT,
  PERMANENT_FAILURE_TEXT,
  CERTAIN_DELAY_TEXT,
} from './notice-patterns.ts'
import { collapseWhitespace } from './text-patterns.ts'

/**
 * How many leading characters the patterns search in a reply, and in a server's notice, which may contain a long list.
 */
const MAX_REPLY_TEXT = 3000
const MAX_NOTICE_TEXT = 20_000

function leadingText(notice: DeliveryNotice, length: number): string {
  return collapseWhitespace(notice.text.slice(0, length))
}

function headerText(mail: MimePart, name: string): string {
  return decodeHeaderText(fieldValue(mail.fields, name) ?? '')
}

function isFromServer(mail: MimePart): boolean {
  const path = fieldValue(mail.fields, 'return-path')
  if (MAILER_DAEMON.test(headerText(mail, 'from')) || path === '<>' || (path !== null && MAILER_DAEMON.test(path)))
    return true
  return /report-type\s*=\s*"?delivery-status/i.test(headerText(mail, 'content-type'))
}

/** A server reports that a mail will not be delivered. */
export function isFailureNotice(mail: MimePart, notice: DeliveryNotice): boolean {
  if (headerText(mail, 'x-failed-recipients') !== '') return true
  if (isAutoReply(mail, notice) && !MAILER_DAEMON.test(headerText(mail, 'from'))) return false
  const mentionsFailure = FAILURE_TEXT.test(leadingText(notice, MAX_NOTICE_TEXT))
  if (isFromServer(mail)) return mentionsFailure || FAILURE_SUBJECT.test(headerText(mail, 'subject'))
  if (isPersonalReply(mail)) return false
  if (!mentionsFailure) return false
  // people write about failed payments; a server names the recipient
  return (
    (notice.entries.length > 0 && FAILURE_SUBJECT.test(headerText(mail, 'subject'))) ||
    /^\s*[245]\d\d[ -]/m.test(notice.text)
  )
}

/** A person replies, perhaps to a notice and with its text quoted below. */
function isPersonalReply(mail: MimePart): boolean {
  return (
    headerText(mail, 'in-reply-to') !== '' && /^\s*(?:re|aw|sv|antw|odp|res|rv)\s*:/i.test(headerText(mail, 'subject'))
  )
}

/** A server reports that it continues to retry. */
export function isDelayNotice(mail: MimePart, notice: DeliveryNotice): boolean {
  if (!isFromServer(mail)) return false
  const text = leadingText(notice, MAX_NOTICE_TEXT)
  if (!DELAY_TEXT.test(text) || PERMANENT_FAILURE_TEXT.test(text.slice(0, 1500))) return false
  return DELAY_SUBJECT.test(headerText(mail, 'subject')) || CERTAIN_DELAY_TEXT.test(text)
}

const AUTO_REPLY_FIELDS = [
  'x-apple-action',
  'x-autoreply',
  'x-autorespond',
  'x-autoresponder',
  'x-auto-reply-from',
  'x-mail-autoreply',
  'auto-reply',
]

/** The automatic reply of a mailbox: out of office, a challenge, an acknowledgement. */
export function isAutoReply(mail: MimePart, notice: DeliveryNotice): boolean {
  const submitted = headerText(mail, 'auto-submitted').toLowerCase()
  if (/^auto-(?:replied|notified)/.test(submitted)) return true
  if (submitted.startsWith('auto-generated') && headerText(mail, 'in-reply-to') !== '') return true
  if (AUTO_REPLY_FIELDS.some((name) => headerText(mail, name) !== '')) return true
  const precedences = `${headerText(mail, 'precedence')} ${headerText(mail, 'x-precedence')}`
  if (/\bauto[-_]?reply/i.test(precedences)) return true
  if (/\b(?:bulk|junk)\b/i.test(precedences) && OUT_OF_OFFICE_TEXT.test(leadingText(notice, MAX_REPLY_TEXT)))
    return true
  return (
    AUTO_REPLY_SUBJECT.test(headerText(mail, 'subject')) ||
    CHALLENGE_RESPONSE.test(`${headerText(mail, 'subject')}\n${leadingText(notice, MAX_REPLY_TEXT)}`)
  )
}

/** True for a null envelope sender (RFC 3834 3.3) in a mail that is not from a mail server. */
export function hasNullSender(mail: MimePart): boolean {
  return fieldValue(mail.fields, 'return-path') === '<>' && !MAILER_DAEMON.test(headerText(mail, 'from'))
}
