/**
 * The commands that name sender and recipient, and the refusals that this side can make because the server's reply is
 * certain. No address that could end a command or begin a parameter becomes part of one (CR, LF, NUL; outside quotes
 * also space and angle brackets). A local refusal has the form of a server's reply, and nothing is sent.
 */
import { isAscii } from 'node:buffer'
import type { Reply } from '#src/mail/reply.ts'
import { composeReply } from '#src/mail/reply.ts'
import type { Capabilities } from './capabilities.ts'

/** One message to one recipient. */
export interface Mail {
  /** Envelope sender; `''` is the null reverse-path. */
  readonly from: string
  readonly to: string
  /** The whole message: lines end in CRLF, no dot-stuffing, no end-of-data mark. */
  readonly data: Buffer
  /** The message or an address needs SMTPUTF8 (RFC 6531). */
  readonly smtputf8: boolean
  /** Called right before the server can have the message; false ends the session without sending it. */
  readonly maySend?: () => boolean
}

export interface LocalRefusal {
  readonly stage: 'mail' | 'rcpt'
  readonly reply: Reply
}

/** Letters, digits, symbols and non-ASCII characters: covers most addresses. */
const PLAIN = /^[\x21\x23-\x3b\x3d\x3f-\x7e\u{a0}-\u{10ffff}]*$/u
/** The same with quoted strings and backslash pairs (RFC 5321 4.1.2). */
const QUOTED_STRING = String.raw`"(?:[\x20\x21\x23-\x5b\x5d-\x7e\u{a0}-\u{10ffff}]|\\[\x20-\x7e])*"`
const QUOTED = new RegExp(String.raw`^(?:[\x21\x23-\x3b\x3d\x3f-\x7e\u{a0}-\u{10ffff}]|${QUOTED_STRING})*$`, 'u')
const BEYOND_ASCII = /[^\x20-\x7e]/

function isSafeAddress(address: string): boolean {
  return (PLAIN.test(address) || QUOTED.test(address)) && address.isWellFormed()
}

/** The refusal of a message that the server would certainly reject; null if the server decides. */
export function refuseLocally(mail: Mail, offers: Capabilities): LocalRefusal | null {
  const { from, to, data } = mail
  if (!isSafeAddress(from)) return { stage: 'mail', reply: composeReply(553, '5.1.7', 'Bad sender address syntax') }
  if (to === '' || !isSafeAddress(to))
    return { stage: 'rcpt', reply: composeReply(553, '5.1.3', 'Bad recipient address syntax') }
  if (!offers.smtputf8 && needsUtf8(mail))
    return {
      stage: 'mail',
      reply: composeReply(550, '5.6.7', 'The message requires SMTPUTF8, which the host does not offer'),
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

/**
 * MAIL with the parameters that the server offers. 8-bit data is sent unchanged even without 8BITMIME: DKIM covers it.
 */
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
