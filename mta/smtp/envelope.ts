/**
 * The commands that name a message's sender and recipient, and the refusals that
 * we can make ourselves because the server's answer is certain.
 * Promises: no address that could end a command early, or begin a parameter, is
 * ever put into one (CR, LF, NUL, and outside of quotes space and angle brackets).
 * On failure: a reply in the server's stead, and nothing is sent.
 */
import { isAscii } from 'node:buffer'
import type { Reply } from '#src/mail/reply.ts'
import { composeReply } from '#src/mail/reply.ts'
import type { Capabilities } from './capabilities.ts'

/** One message to one recipient. */
export interface Mail {
  /** Envelope sender, `''` for the null reverse-path. */
  readonly from: string
  readonly to: string
  /** The whole message: lines end in CRLF, dots are not doubled, no end mark. */
  readonly data: Buffer
  /** The message or an address needs SMTPUTF8 (RFC 6531). */
  readonly smtputf8: boolean
  /** Asked right before the server can have the message, which may be long after the beginning: false ends the session without it. */
  readonly mayGo?: () => boolean
}

export interface LocalRefusal {
  readonly stage: 'mail' | 'rcpt'
  readonly reply: Reply
}

/** Letters, digits and signs, and everything beyond ASCII: most addresses need no closer look. */
const PLAIN = /^[\x21\x23-\x3b\x3d\x3f-\x7e\u{a0}-\u{10ffff}]*$/u
/** The same, with quoted strings and backslash pairs in them (RFC 5321 4.1.2). */
const QUOTED =
  /^(?:[\x21\x23-\x3b\x3d\x3f-\x7e\u{a0}-\u{10ffff}]|"(?:[\x20\x21\x23-\x5b\x5d-\x7e\u{a0}-\u{10ffff}]|\\[\x20-\x7e])*")*$/u
const BEYOND_ASCII = /[^\x20-\x7e]/

function isSafe(address: string): boolean {
  return (PLAIN.test(address) || QUOTED.test(address)) && address.isWellFormed()
}

/** What is certain to be refused, with what the server would say; null if the server should be asked. */
export function refuseLocally(mail: Mail, offers: Capabilities): LocalRefusal | null {
  const { from, to, data } = mail
  if (!isSafe(from)) return { stage: 'mail', reply: composeReply(553, '5.1.7', 'Bad sender address syntax') }
  if (to === '' || !isSafe(to))
    return { stage: 'rcpt', reply: composeReply(553, '5.1.3', 'Bad recipient address syntax') }
  if (!offers.smtputf8 && needsUtf8(mail))
    return {
      stage: 'mail',
      reply: composeReply(550, '5.6.7', 'SMTPUTF8 is needed for this message and is not offered by the host'),
    }
  if (offers.size !== null && offers.size > 0 && data.length > offers.size)
    return {
      stage: 'mail',
      reply: composeReply(552, '5.3.4', `Message size ${data.length} exceeds the limit ${offers.size} of the host`),
    }
  return null
}

function needsUtf8(mail: Mail): boolean {
  return mail.smtputf8 || BEYOND_ASCII.test(mail.from) || BEYOND_ASCII.test(mail.to)
}

/** MAIL with the parameters that the server offers. 8-bit bytes go out as they are even where 8BITMIME is not offered: changing them would break the signature. */
export function composeMail(mail: Mail, offers: Capabilities): string {
  let command = `MAIL FROM:<${mail.from}>`
  if (offers.size !== null) command += ` SIZE=${mail.data.length}`
  if (offers.eightBitMime && !isAscii(mail.data)) command += ' BODY=8BITMIME'
  if (offers.smtputf8 && needsUtf8(mail)) command += ' SMTPUTF8'
  return command
}

export function composeRcpt(mail: Mail): string {
  return `RCPT TO:<${mail.to}>`
}
