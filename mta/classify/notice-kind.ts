/**
 * What kind of mail a notice is: a failure, a delay, or an automatic answer (RFC 3834), by its header and the families of its first words.
 */
import type { Notice } from './notice.ts'
import { type Part, valueOf } from './mime.ts'
import { words } from './words.ts'

const DAEMON = words(
  String.raw`mailer-?daemon|post_?master|mail (?:delivery|administrator|system|server)|mail ?delivery (?:sub)?system`,
  String.raw`system administrator|mdaemon|internet mail (?:delivery|service)|\bmailer\b|delivery (?:system|service|subsystem)`,
)

const FAILURE_SUBJECT = words(
  String.raw`undeliver|fail(?:ure|ed)|return(?:ed|ing)|delivery (?:status )?(?:notification|report|problem|error)`,
  String.raw`non[- ]?(?:remis|deliver)|not deliver|could ?n[o']t (?:be )?deliver|could not send|bounce|mail (?:system )?error`,
  String.raw`rejected|unzustellbar|nicht zugestellt|mail server error|error sending|problem deliver|unable to deliver`,
  String.raw`delivery incomplete|message status|warning: (?:message|could not)`,
)

const FAILURE_WORDS = words(
  String.raw`(?:could not|couldn't|cannot|can't|wasn't able to|was not able to|unable to|not) (?:be )?(?:deliver|sen[dt]|`
    + String.raw`reach|relay)`,
  String.raw`(?:was|were|is|has|have)(?: not|n't)(?: been)? (?:deliver|sen[dt]|reach|accepted)`,
  String.raw`deliver(?:y|ed|ing)?\b[^.\n]{0,80}\b(?:fail|error|unsuccess|problem|impossible|not possible)`,
  String.raw`permanent (?:fatal )?(?:error|failure)|fatal errors|(?:following|these) (?:recipient|address|user)s?\b|undeliver`,
  String.raw`did not reach|returned (?:message|mail)|failure reasons|transcript of session|message (?:was )?rejected`,
  String.raw`mailbox is full|error message below|recipients? (?:returned|were affected)|may not exist`,
)

const DELAY_SUBJECT = /\bdelay(?:ed)?\b|\bwarning\b|still being retried|verz[öo]ger|retard/i
const DELAY_WORDS = words(
  String.raw`(?:has|have|had|is|was) (?:not yet been|been|being)? ?(?:delivered|delayed)[^.\n]{0,60}`,
  String.raw`not yet (?:been )?delivered|will (?:be|continue to be|keep) (?:re)?tr(?:ied|y)|warning (?:message )?only`,
  String.raw`temporary (?:failure|delay) report|still (?:being retried|trying)|continue (?:to try|trying)`,
  String.raw`do not need to re-?send`,
)
const SURE_DELAY_WORDS = /warning (?:message )?only|not yet (?:been )?delivered|temporary (?:failure|delay) report/i
const FINAL_WORDS = /permanent(?:ly)?\b|given up|giving up|will not be re-?tri|failed permanently|fatal/i

function head(mail: Part, name: string): string {
  return valueOf(mail.fields, name) ?? ''
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
  const isSaid = FAILURE_WORDS.test(notice.text)
  if (isFromServer(mail)) return isSaid || FAILURE_SUBJECT.test(head(mail, 'subject'))
  return isSaid && (FAILURE_SUBJECT.test(head(mail, 'subject')) || /^\s*[245]\d\d[ -]/m.test(notice.text))
}

/** A server says that it goes on trying. */
export function isDelayNotice(mail: Part, notice: Notice): boolean {
  if (!isFromServer(mail)) return false
  const isTold = DELAY_WORDS.test(notice.text)
  if (!isTold || FINAL_WORDS.test(notice.text.slice(0, 1500))) return false
  return DELAY_SUBJECT.test(head(mail, 'subject')) || SURE_DELAY_WORDS.test(notice.text)
}

const ANSWER_SUBJECT = words(
  String.raw`^\s*(?:(?:re|aw|fwd?)\s*:\s*)*(?:\[?auto(?:matic|mated|matisch\w*)?[- ]?(?:reply|response|responder|answer|`
    + String.raw`antwort|generated)|out[- ]of[- ](?:the[- ])?office|away\b|(?:i am|i'm) (?:away|out|on)|vacation|on (?:holiday|`
    + String.raw`leave|vacation)|abwesen|r[ée]ponse automatique|absence|risposta automatica|respuesta autom|`
    + String.raw`fuera de (?:la )?oficina|autosvar|afwezig|自動応答|自動返信|不在)`,
)
const CHALLENGE = words(
  String.raw`(?:confirm|verify) (?:your|that you|this) (?:message|e-?mail|identity|address|are)|\bchallenge[- ]response`,
  String.raw`to (?:prove|verify) (?:that )?you(?:'re| are) (?:a )?(?:human|not a)|spam ?arrest|boxbe`,
  String.raw`your (?:message|e-?mail) (?:is|has been) (?:waiting|held|quarantined)[^.\n]{0,80}(?:confirm|approv|click|reply)`,
)

const ANSWER_FIELDS = ['x-autoreply', 'x-autorespond', 'x-autoresponder', 'x-auto-reply-from', 'x-mail-autoreply', 'auto-reply']

/** A person's mailbox answered by itself: out of office, a challenge, an acknowledgement. */
export function isAutomaticAnswer(mail: Part, notice: Notice): boolean {
  const submitted = head(mail, 'auto-submitted').toLowerCase()
  if (/^auto-(?:replied|notified)/.test(submitted)) return true
  if (ANSWER_FIELDS.some((name) => head(mail, name) !== '')) return true
  if (/^auto_?reply/i.test(head(mail, 'precedence')) || /^auto_?reply/i.test(head(mail, 'x-precedence'))) return true
  return ANSWER_SUBJECT.test(head(mail, 'subject')) || CHALLENGE.test(`${head(mail, 'subject')}\n${notice.text.slice(0, 3000)}`)
}
