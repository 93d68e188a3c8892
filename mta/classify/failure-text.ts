/**
 * What a failure text says, by families of words that mail servers use. A family gives a class; whether it condemns the address stands
 * beside it. Only words about the address itself, or about its domain, are hard: a filter, a quota, a policy or a network never condemn an
 * address, and where a text says both, the softer reading comes first. What the words leave open is asked of the status code (RFC 3463).
 * The one truth for replies in the conversation (reply.ts) and for reports (report.ts).
 */

import { FAILURE_PATTERNS, type FailureClassification } from './failure-patterns.ts'
import { LOCALISED_FAILURE_PATTERNS } from './failure-patterns-localised.ts'
import { anyOf } from './text-patterns.ts'

/** The SMTP command whose answer it was, where the text tells. */
export type RejectedCommand = 'connect' | 'mail' | 'rcpt' | 'data'

/** Status codes without their class (RFC 3463 and the IANA registry), for texts whose words say nothing. First match wins. */
const STATUS_CODES: readonly { readonly code: RegExp; readonly reading: FailureClassification }[] = [
  { code: /^1\.(?:1|351)$/, reading: { class: 'no-such-user', isHard: true } },
  { code: /^1\.(?:2|10)$/, reading: { class: 'no-such-domain', isHard: true } },
  { code: /^1\.3$/, reading: { class: 'bad-address', isHard: true } },
  { code: /^1\.6$/, reading: { class: 'moved', isHard: true } },
  { code: /^1\.[4-9]$|^1\.0$/, reading: { class: 'address', isHard: false } },
  { code: /^2\.1$/, reading: { class: 'mailbox-disabled', isHard: false } },
  { code: /^2\.2$/, reading: { class: 'mailbox-full', isHard: false } },
  { code: /^(?:2\.3|3\.4)$/, reading: { class: 'too-large', isHard: false } },
  { code: /^2\./, reading: { class: 'mailbox', isHard: false } },
  { code: /^3\./, reading: { class: 'system', isHard: false } },
  { code: /^4\.7$/, reading: { class: 'expired', isHard: false } },
  { code: /^4\./, reading: { class: 'network', isHard: false } },
  { code: /^5\./, reading: { class: 'protocol', isHard: false } },
  { code: /^6\.[79]$/, reading: { class: 'no-smtputf8', isHard: false } },
  { code: /^6\./, reading: { class: 'message-refused', isHard: false } },
  { code: /^7\./, reading: { class: 'policy', isHard: false } },
]

const UNKNOWN: FailureClassification = { class: 'unknown', isHard: false }

/** `text` is what the server said; `status` an enhanced code, or null. The text decides where it says something. */
export function classifyFailureText(text: string, status: string | null, command: RejectedCommand | null): FailureClassification {
  const classification = classifyWords(maskNames(text.slice(0, MAX_TEXT))) ?? classifyStatus(status)
  if (!classification.isHard) return classification
  // an answer to the sender, or before any recipient was named, says nothing of the recipient
  if (command === 'mail' || command === 'connect') return { class: 'sender-refused', isHard: false }
  return classification
}

const MAX_TEXT = 4000
const LINK = /https?:\/\/\S+/gi
const ADDRESS = /[^\s<>()[\]:;,"'@]{1,128}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,20}/g

const HOST = /\b(host|talking to) [\w-]{1,63}(?:\.[\w-]{1,63}){1,20}/gi

/** A domain, or an address in quotes, may be called by any word too; they are known only to who knows whom it is about. */
export function maskRecipient(text: string, address: string): string {
  return text.replaceAll(address, 'x@y').replaceAll(address.slice(address.lastIndexOf('@') + 1), 'x.y')
}

/** An address, a server, and where to read more, may be called by any word. */
function maskNames(text: string): string {
  return text.replace(LINK, '').replace(ADDRESS, 'x@y').replace(HOST, '$1 x.y')
}

/**
 * Words alone, beside a status code that names another fault or none, condemn an address only where the server said them to RCPT: filters
 * say "user unknown" too, most of all when the content was there. A notice without any code is an old server's own, and 5.5.0 was made
 * of a bare 550; their words are all there is.
 */
export function isConfirmed(reading: FailureClassification, status: string | null, command: RejectedCommand | null): boolean {
  if (reading.class !== 'no-such-user' || reading.isConclusive === true || command === 'rcpt') return true
  return status === null || status === '5.5.0' ? command !== 'data' : /^[245]\.(?:1\.\d+|2\.1|4\.1)$/.test(status)
}

function classifyWords(text: string): FailureClassification | null {
  const found = FAILURE_PATTERNS.find(({ pattern: says }) => says.test(text)) ?? LOCALISED_FAILURE_PATTERNS.find(({ pattern: says }) => says.test(text))
  return found ?? null
}

function classifyStatus(status: string | null): FailureClassification {
  if (status === null) return UNKNOWN
  const detail = status.slice(2)
  const found = STATUS_CODES.find(({ code }) => code.test(detail))?.reading ?? UNKNOWN
  return status.startsWith('4') ? { ...found, isHard: false } : found
}

const COMMANDS: readonly (readonly [RejectedCommand, RegExp])[] = [
  [
    'data',
    anyOf(
      String.raw`end of (?:the )?(?:data|message)|in reply to (?:end of )?data|after (?:sending )?data|failed after i sent the message`,
      String.raw`\(data\)|>>> data\b|message body|after pipelined data`,
    ),
  ],
  [
    'rcpt',
    /(?:in reply to rcpt|after rcpt|smtp:\s?rcpt|\brcpt[ _]to\b|>>> rcpt|does not like recipient|rejected address\b)/i,
  ],
  [
    'mail',
    /(?:in reply to mail|after mail from|>>> mail from|does not like (?:the )?sender|my name was rejected|\bmail[ _]from\b)/i,
  ],
  [
    'connect',
    anyOf(
      String.raw`in reply to (?:initial|helo|ehlo)|after (?:initial connection|helo|ehlo)|while talking to \S+ greeting`,
      String.raw`host \S+ refused to talk`,
    ),
  ],
]

export function findRejectedCommand(text: string): RejectedCommand | null {
  return COMMANDS.find(([, says]) => says.test(text))?.[0] ?? null
}

/** The last enhanced code in a text: where servers repeat each other, the innermost stands last. */
export function findStatusCode(text: string): string | null {
  const found = [...text.matchAll(/(?<![\d.])([245]\.\d{1,3}\.\d{1,3})(?![\d.])/g)].map(([, code]) => code ?? '')
  return found.at(-1) ?? null
}
