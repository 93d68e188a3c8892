/**
 * What kind of mail a notice is: a failure, a delay, or an automatic answer (RFC 3834), by its header and the families of its first words.
 */
import { readHeaderText } from '#src/mail/header-text.ts'
import type { Notice } from './notice.ts'
import { type Part, valueOf } from './mime.ts'
import {
  ANSWER_SUBJECT,
  AWAY_WORDS,
  CHALLENGE,
  DAEMON,
  DELAY_SUBJECT,
  DELAY_WORDS,
  FAILURE_SUBJECT,
  FAILURE_WORDS,
  FINAL_WORDS,
  SURE_DELAY_WORDS,
} from './notice-words.ts'
import { onOneLine } from './word-patterns.ts'

/** Characters of a notice in which it says what it is; of a server's, whose lists may be long. */
const MAX_WORDS = 3000
const MAX_NOTICE = 20_000

function beginning(notice: Notice, length: number): string {
  return onOneLine(notice.text.slice(0, length))
}

function head(mail: Part, name: string): string {
  return readHeaderText(valueOf(mail.fields, name) ?? '')
}

function isFromServer(mail: Part): boolean {
  const path = valueOf(mail.fields, 'return-path')
  if (DAEMON.test(head(mail, 'from')) || path === '<>' || (path !== null && DAEMON.test(path))) return true
  return /report-type\s*=\s*"?delivery-status/i.test(head(mail, 'content-type'))
}

/** A server says that a mail will not arrive. */
export function isFailureNotice(mail: Part, notice: Notice): boolean {
  if (head(mail, 'x-failed-recipients') !== '') return true
  if (isAutomaticAnswer(mail, notice) && !DAEMON.test(head(mail, 'from'))) return false
  const isSaid = FAILURE_WORDS.test(beginning(notice, MAX_NOTICE))
  if (isFromServer(mail)) return isSaid || FAILURE_SUBJECT.test(head(mail, 'subject'))
  if (isAnswer(mail)) return false
  if (!isSaid) return false
  // people write of payments that failed; a server names whom it could not reach
  return (
    (notice.entries.length > 0 && FAILURE_SUBJECT.test(head(mail, 'subject'))) || /^\s*[245]\d\d[ -]/m.test(notice.text)
  )
}

/** Somebody writes back, perhaps about a notice and with all of its words below. */
function isAnswer(mail: Part): boolean {
  return head(mail, 'in-reply-to') !== '' && /^\s*(?:re|aw|sv|antw|odp|res|rv)\s*:/i.test(head(mail, 'subject'))
}

/** A server says that it goes on trying. */
export function isDelayNotice(mail: Part, notice: Notice): boolean {
  if (!isFromServer(mail)) return false
  const text = beginning(notice, MAX_NOTICE)
  if (!DELAY_WORDS.test(text) || FINAL_WORDS.test(text.slice(0, 1500))) return false
  return DELAY_SUBJECT.test(head(mail, 'subject')) || SURE_DELAY_WORDS.test(text)
}

const ANSWER_FIELDS = [
  'x-apple-action',
  'x-autoreply',
  'x-autorespond',
  'x-autoresponder',
  'x-auto-reply-from',
  'x-mail-autoreply',
  'auto-reply',
]

/** A person's mailbox answered by itself: out of office, a challenge, an acknowledgement. */
export function isAutomaticAnswer(mail: Part, notice: Notice): boolean {
  const submitted = head(mail, 'auto-submitted').toLowerCase()
  if (/^auto-(?:replied|notified)/.test(submitted)) return true
  if (submitted.startsWith('auto-generated') && head(mail, 'in-reply-to') !== '') return true
  if (ANSWER_FIELDS.some((name) => head(mail, name) !== '')) return true
  const precedences = `${head(mail, 'precedence')} ${head(mail, 'x-precedence')}`
  if (/\bauto[-_]?reply/i.test(precedences)) return true
  if (/\b(?:bulk|junk)\b/i.test(precedences) && AWAY_WORDS.test(beginning(notice, MAX_WORDS))) return true
  return (
    ANSWER_SUBJECT.test(head(mail, 'subject')) ||
    CHALLENGE.test(`${head(mail, 'subject')}\n${beginning(notice, MAX_WORDS)}`)
  )
}

/** Sent from nobody, so that nobody answers (RFC 3834 3.3), yet not by a server. */
export function isFromNobody(mail: Part): boolean {
  return valueOf(mail.fields, 'return-path') === '<>' && !DAEMON.test(head(mail, 'from'))
}
