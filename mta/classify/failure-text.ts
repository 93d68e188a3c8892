/**
 * Classifies a failure text by patterns for the wording of mail servers. A pattern has a class and says whether it is a
 * hard bounce. Only a text about the address or its domain is hard. A filter, a quota, a policy or a network failure is
 * never hard, and if a text says both, the soft class wins. If no pattern matches, the status code decides (RFC 3463).
 * Used for SMTP replies (reply.ts) and for reports (report.ts).
 */
import {
  FAILURE_PATTERNS,
  type FailureClassification,
  type FailurePattern,
  type RejectedCommand,
} from './failure-patterns.ts'
import { LOCALISED_FAILURE_PATTERNS } from './failure-patterns-localised.ts'
import { QUOTED_BLOCKLIST } from './failure-patterns-sender.ts'
import { anyOf, collapseWhitespace, group } from './text-patterns.ts'

/** Status codes without their class digit (RFC 3463 and the IANA registry). The first match wins. */
const STATUS_CODES: readonly { readonly code: RegExp; readonly classification: FailureClassification }[] = [
  { code: /^1\.(?:1|351)$/, classification: { class: 'no-such-user', isHard: true } },
  { code: /^1\.(?:2|10)$/, classification: { class: 'no-such-domain', isHard: true } },
  { code: /^1\.3$/, classification: { class: 'bad-address', isHard: true } },
  { code: /^1\.6$/, classification: { class: 'moved', isHard: true } },
  { code: /^1\.[4-9]$|^1\.0$/, classification: { class: 'address', isHard: false } },
  { code: /^2\.1$/, classification: { class: 'mailbox-disabled', isHard: false } },
  { code: /^2\.2$/, classification: { class: 'mailbox-full', isHard: false } },
  { code: /^(?:2\.3|3\.4)$/, classification: { class: 'too-large', isHard: false } },
  { code: /^2\./, classification: { class: 'mailbox', isHard: false } },
  { code: /^3\./, classification: { class: 'system', isHard: false } },
  { code: /^4\.7$/, classification: { class: 'expired', isHard: false } },
  { code: /^4\./, classification: { class: 'network', isHard: false } },
  { code: /^5\./, classification: { class: 'protocol', isHard: false } },
  { code: /^6\.[79]$/, classification: { class: 'no-smtputf8', isHard: false } },
  { code: /^6\./, classification: { class: 'message-refused', isHard: false } },
  { code: /^7\./, classification: { class: 'policy', isHard: false } },
]

const UNKNOWN: FailureClassification = { class: 'unknown', isHard: false }
/** What a hard failure becomes beside a quoted block list: the list refused us, whatever the code says. */
export const BLOCKED_BY_LIST: FailureClassification = { class: 'blocked', isHard: false }

/** Classifies the text of a server. `status`, an enhanced code or null, decides only if no pattern matches the text. */
export function classifyFailureText(
  text: string,
  status: string | null,
  command: RejectedCommand | null,
): FailureClassification {
  const read = text.slice(0, MAX_TEXT)
  const classification = classifyWords(maskNames(read), command) ?? classifyStatus(status)
  if ((classification.isHard || classification.class === 'unknown') && quotesBlocklist(read)) return BLOCKED_BY_LIST
  if (!classification.isHard) return classification
  // a reply to MAIL, or before any recipient was named, says nothing about the recipient
  if (command === 'mail' || command === 'connect') return { class: 'sender-refused', isHard: false }
  return classification
}

const MAX_TEXT = 4000

/** True if the text quotes a block list. Such a refusal is about us, even beside a code such as 5.1.1. */
export function quotesBlocklist(text: string): boolean {
  return QUOTED_BLOCKLIST.test(
    collapseWhitespace(text.slice(0, MAX_TEXT).replace(ADDRESS, 'x@y').replace(HOST, '$1 x.y')),
  )
}

const LINK = /https?:\/\/\S+/gi
const ADDRESS = /[^\s<>()[\]:;,"'@]{1,128}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,20}/g

const HOST = /\b(host|talking to) [\w-]{1,63}(?:\.[\w-]{1,63}){1,20}/gi

/** Replaces the recipient in a text, because its address or domain may contain words that a pattern matches. */
export function maskRecipient(text: string, address: string): string {
  return text.replaceAll(address, 'x@y').replaceAll(address.slice(address.lastIndexOf('@') + 1), 'x.y')
}

/** Replaces addresses, host names and links, because they may contain words that a pattern matches. */
function maskNames(text: string): string {
  return text.replace(LINK, '').replace(ADDRESS, 'x@y').replace(HOST, '$1 x.y')
}

/**
 * Says whether "no such user" in a text is credible. With a status code that names another failure or none, it counts
 * only as a reply to RCPT: filters say "user unknown" too, mostly after the content. A notice without any code comes
 * from an old server, and 5.5.0 was derived from a bare 550; in both cases the text is the only evidence.
 */
export function isConfirmed(
  reading: FailureClassification,
  status: string | null,
  command: RejectedCommand | null,
): boolean {
  if (reading.class !== 'no-such-user' || reading.isConclusive === true || command === 'rcpt') return true
  return status === null || status === '5.5.0' ? command !== 'data' : /^[245]\.(?:1\.\d+|2\.1|4\.1)$/.test(status)
}

function classifyWords(text: string, rejected: RejectedCommand | null): FailureClassification | null {
  const isMatch = ({ pattern: says, command }: FailurePattern): boolean =>
    (command === undefined || command === rejected) && says.test(text)
  return FAILURE_PATTERNS.find(isMatch) ?? LOCALISED_FAILURE_PATTERNS.find(isMatch) ?? null
}

function classifyStatus(status: string | null): FailureClassification {
  if (status === null) return UNKNOWN
  const detail = status.slice(2)
  const found = STATUS_CODES.find(({ code }) => code.test(detail))?.classification ?? UNKNOWN
  return status.startsWith('4') ? { ...found, isHard: false } : found
}

const COMMANDS: readonly (readonly [RejectedCommand, RegExp])[] = [
  // pipelining: a transcript shows the reply to RCPT below DATA, and 503 because no recipient was accepted
  ['rcpt', />>> data <<< 55[04][ -](?![245]\.\d).{0,3000}(?:\b503[ -]|\bno valid recipients)/i],
  [
    'data',
    anyOf(
      'end of (?:the )?(?:data|message)|in reply to (?:end of )?data|after (?:sending )?data',
      'failed after i sent the message',
      String.raw`\(data\)|>>> data\b|message body|after pipelined data`,
    ),
  ],
  [
    'rcpt',
    anyOf(
      group(
        String.raw`in reply to rcpt|after rcpt|smtp:\s?rcpt|\brcpt[ _]to\b|>>> rcpt|does not like recipient`,
        String.raw`rejected address\b`,
      ),
    ),
  ],
  [
    'mail',
    anyOf(
      group(
        'in reply to mail|after mail from|>>> mail from|does not like (?:the )?sender|my name was rejected',
        String.raw`\bmail[ _]from\b`,
      ),
    ),
  ],
  [
    'connect',
    anyOf(
      'in reply to (?:initial|helo|ehlo)|after (?:initial connection|helo|ehlo)',
      String.raw`while talking to \S+ greeting`,
      String.raw`host \S+ refused to talk`,
    ),
  ],
]

/** Null if the text does not say. Notices wrap their lines anywhere. */
export function findRejectedCommand(text: string): RejectedCommand | null {
  const flat = collapseWhitespace(text)
  return COMMANDS.find(([, pattern]) => pattern.test(flat))?.[0] ?? null
}

/** The last enhanced code in a text: if servers quote each other, the innermost code is last. */
export function findStatusCode(text: string): string | null {
  const found = [...text.matchAll(/(?<![\d.])([245]\.\d{1,3}\.\d{1,3})(?![\d.])/g)].map(([, code]) => code ?? '')
  return found.at(-1) ?? null
}
