/**
 * One message to one recipient on an open connection: MAIL, RCPT, DATA, the content, the end-of-data mark (RFC 5321
 * 3.3). If the server offers PIPELINING, the commands go out in one write (RFC 2920). The server may have the message
 * exactly when it may have seen the end-of-data mark, so the mark goes out only after everything before it has left:
 * - A message of up to 16 KB goes out with its mark in one write. The server has just answered everything that was
 * sent, so the send buffer is empty, and no send buffer is smaller: the kernel accepts all of it in that call.
 * - A larger message goes out in blocks; the kernel must have accepted each before the next is written. The mark
 * follows the last block. A loss after that write is `afterDot`. Before it the message is incomplete, and the server
 * may not deliver it (RFC 5321 4.2.5, 3.8). A refusal names the command it answers, a loss the step in which it
 * happened.
 */
import type { Reply } from '#src/mail/reply.ts'
import { formatReply } from '#src/mail/reply.ts'
import { dotStuff, endOfData } from './dot-stuffing.ts'
import type { Mail } from './envelope.ts'
import type { TransactionStage } from './result.ts'
import type { Wire } from './wire.ts'

export interface SmtpCommand {
  readonly step: 'rset' | 'mail' | 'rcpt' | 'data'
  readonly line: string
}

/** How a transaction ended, without the conversation. The reason of a loss is in `Wire.loss`. */
export type TransactionEnding =
  | { readonly kind: 'accepted'; readonly reply: Reply }
  | { readonly kind: 'rejected'; readonly stage: TransactionStage; readonly reply: Reply; readonly local?: true }
  | { readonly kind: 'lost'; readonly stage: TransactionStage | 'rset' | 'body'; readonly afterDot: boolean }

type Content = Pick<Mail, 'data' | 'maySend'>
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
  return reply !== null && isExpected('dot', reply) ? { kind: 'accepted', reply } : failureFor(wire, 'dot', reply)
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
