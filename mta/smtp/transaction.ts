/**
 * One message to one recipient on an open connection: MAIL, RCPT, DATA, the content, the end-of-data mark (RFC 5321
 * 3.3). A refusal names the command it answers, a loss the step in which it happened.
 *
 * Commands. If the server offers PIPELINING, they go out in one write (RFC 2920). No address that could end a command
 * or begin a parameter becomes part of one (CR, LF, NUL; outside quotes also space and angle brackets). Where the
 * server's reply is certain, this side refuses the message with a reply of the same form, and nothing is sent.
 *
 * Content. Leading dots are doubled (RFC 5321 4.5.2); after the server removes them it has the original bytes. Nothing
 * inside a message can be read as its end, not even by a server that accepts a bare LF as a line end. The server may
 * have the message exactly when it may have seen the end-of-data mark, so the mark goes out only after everything
 * before it has left:
 * - A message of up to 16 KB goes out with its mark in one write. The server has just answered everything that was
 * sent, so the send buffer is empty, and no send buffer is smaller: the kernel accepts all of it in that call.
 * - A larger message goes out in blocks; the kernel must have accepted each before the next is written. The mark
 * follows the last block. A loss after that write is `afterDot`. Before it the message is incomplete, and the server
 * may not deliver it (RFC 5321 4.2.5, 3.8).
 */
import { isAscii } from 'node:buffer'
import type { Reply } from '#src/mail/reply.ts'
import { composeReply, formatReply } from '#src/mail/reply.ts'
import type { Capabilities, TransactionStage } from './result.ts'
import type { Wire } from './wire.ts'

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
  /**
   * Called with the reply that accepts the message, and the conversation up to it, before anything else happens with
   * the reply.
   */
  readonly onAccepted?: (reply: Reply, lines: readonly string[]) => void
}

export interface SmtpCommand {
  readonly step: 'rset' | 'mail' | 'rcpt' | 'data'
  readonly line: string
}

/** How a transaction ended, without the conversation. The reason of a loss is in `Wire.loss`. */
export type TransactionEnding =
  | { readonly kind: 'accepted'; readonly reply: Reply }
  | { readonly kind: 'rejected'; readonly stage: TransactionStage; readonly reply: Reply; readonly local?: true }
  | { readonly kind: 'lost'; readonly stage: TransactionStage | 'rset' | 'body'; readonly afterDot: boolean }

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

type Content = Pick<Mail, 'data' | 'maySend' | 'onAccepted'>
type FailedEnding = Exclude<TransactionEnding, { kind: 'accepted' }>

/** Result of MAIL, RCPT and DATA. `isOpen`: the server now waits for content. */
interface EnvelopeResult {
  readonly failure: FailedEnding | null
  readonly isOpen: boolean
}

/** Bytes that fit into any empty send buffer (Linux starts with 16 KB). */
const ONE_WRITE_BYTES = 16_384
const BLOCK_BYTES = 65_536
const NOTHING = Buffer.alloc(0)

/** First digit of the reply that continues the transaction (RFC 5321 4.2.1). */
const EXPECTED_DIGIT = { rset: 2, mail: 2, rcpt: 2, data: 3, dot: 2 } as const

/** Runs the transaction. `commands` end with DATA; `mayPipeline`: the server offers PIPELINING. */
export async function transact(
  wire: Wire,
  commands: readonly SmtpCommand[],
  mail: Content,
  mayPipeline: boolean,
): Promise<TransactionEnding> {
  const { failure, isOpen } = await sendEnvelope(wire, commands, mayPipeline)
  if (failure !== null) {
    if (isOpen) await endEmptyTransaction(wire)
    return failure
  }
  const isSent = await sendContent(wire, mail)
  if (!isSent) return failureOfContent(wire)
  const reply = await wire.readReply('dot')
  if (reply === null || !isExpected('dot', reply)) return failureFor(wire, 'dot', reply)
  mail.onAccepted?.(reply, wire.lines)
  return { kind: 'accepted', reply }
}

/** Sends the commands and reads their replies; the first failure counts. A pipelined group is read to its end. */
async function sendEnvelope(
  wire: Wire,
  commands: readonly SmtpCommand[],
  mayPipeline: boolean,
): Promise<EnvelopeResult> {
  if (mayPipeline) wire.send(commands.map(({ line }) => line))
  let failure: FailedEnding | null = null
  for (const { step, line } of commands) {
    if (!mayPipeline) wire.send([line])
    const reply = await wire.readReply(step)
    if (reply !== null && isExpected(step, reply)) {
      if (step === 'data') return { failure, isOpen: true }
      continue
    }
    failure ??= failureFor(wire, step, reply)
    if (!mayPipeline || wire.loss !== null || reply?.code === 421) break
  }
  return { failure, isOpen: false }
}

/** @returns true once the end-of-data mark has been written to the socket. */
async function sendContent(wire: Wire, { data, maySend }: Content): Promise<boolean> {
  const content = dotStuff(data)
  const mark = endOfData(data)
  if (!checkMaySend(wire, maySend)) return false
  if (content.length <= ONE_WRITE_BYTES) {
    noteContent(wire, data)
    wire.write(Buffer.concat([content, mark]), 1)
    return true
  }
  for (let at = 0; at < content.length; at += BLOCK_BYTES) {
    const isFlushed = await wire.flush(content.subarray(at, at + BLOCK_BYTES), 'block')
    if (isFlushed) continue
    const sent = Math.min(at + BLOCK_BYTES, content.length)
    wire.addLine(`-- after at most ${sent} of ${content.length} bytes of the message, without its end`)
    return false
  }
  if (!checkMaySend(wire, maySend)) return false
  noteContent(wire, data)
  wire.write(mark, 1)
  return true
}

/** Checks `maySend` at the last moment before the server can have the message. */
function checkMaySend(wire: Wire, maySend: Content['maySend']): boolean {
  if (wire.loss === null && maySend?.() === false) wire.lose('aborted', 'the message was no longer to be sent')
  return wire.loss === null
}

function noteContent(wire: Wire, data: Buffer): void {
  wire.addLine(`C: [${data.length} bytes]`)
  wire.addLine('C: .')
}

/** Ends a transaction that the server opened with 354 after it refused sender or recipient (RFC 2920 3.1). */
async function endEmptyTransaction(wire: Wire): Promise<void> {
  wire.addLine('C: .')
  wire.write(endOfData(NOTHING), 1)
  const reply = await wire.readReply('data')
  if (reply?.code === 421) wire.lose('closed', 'the server ended the session')
}

function isExpected(step: keyof typeof EXPECTED_DIGIT, reply: Reply): boolean {
  return Math.floor(reply.code / 100) === EXPECTED_DIGIT[step]
}

/** The failure for a refusal or a missing reply. After the dot, an invalid reply is evidence of neither outcome. */
function failureFor(wire: Wire, step: SmtpCommand['step'] | 'dot', reply: Reply | null): FailedEnding {
  if (reply !== null && reply.code >= 400 && step !== 'rset') return { kind: 'rejected', stage: step, reply }
  if (reply !== null) wire.lose('protocol', `invalid reply to ${step.toUpperCase()}: ${formatReply(reply)}`)
  return { kind: 'lost', stage: step, afterDot: step === 'dot' }
}

/** The content was not sent completely. Servers that refuse it often send a reply and disconnect. */
function failureOfContent(wire: Wire): FailedEnding {
  const { unsolicitedRefusal: farewell } = wire
  return farewell === null
    ? { kind: 'lost', stage: 'body', afterDot: false }
    : { kind: 'rejected', stage: 'dot', reply: farewell }
}

const DOT = 46
const CR = 13
const LF = 10
const DOT_LINE = Buffer.from('\n.')
const END = Buffer.from('.\r\n')
const END_AFTER_LINE_BREAK = Buffer.from('\r\n.\r\n')

/** The bytes with leading dots doubled; the same buffer, not copied, if no line starts with a dot. */
export function dotStuff(data: Buffer): Buffer {
  let found = data.indexOf(DOT_LINE)
  const startsWithDot = data[0] === DOT
  if (found < 0 && !startsWithDot) return data
  const pieces: Buffer[] = startsWithDot ? [data.subarray(0, 1)] : []
  let copied = 0
  while (found >= 0) {
    pieces.push(data.subarray(copied, found + 2))
    copied = found + 1
    found = data.indexOf(DOT_LINE, copied + 1)
  }
  pieces.push(data.subarray(copied))
  return Buffer.concat(pieces)
}

/** The end-of-data mark: CRLF.CRLF, without the first CRLF if the message ends with one. */
export function endOfData(data: Buffer): Buffer {
  const { length } = data
  const endsLine = length === 0 || (data[length - 1] === LF && data[length - 2] === CR)
  return endsLine ? END : END_AFTER_LINE_BREAK
}
