/**
 * One message to one recipient over an open connection: MAIL, RCPT, DATA, the
 * content, the end mark (RFC 5321 3.3). Where the server pipelines, the commands
 * go out in one write (RFC 2920).
 *
 * When may the server have the message? Exactly when it may have seen the end
 * mark, so the end mark is kept back until everything before it has left:
 * - A message of up to 16 KB goes out with its end mark in one write. The server
 *   has just answered all that was sent, so the send buffer is empty, and none is
 *   smaller than that: the kernel takes all of it in that call.
 * - A larger one goes out in blocks, each of which the kernel must have taken
 *   before the next. The end mark is written after the last of them.
 * From that write on a loss is `afterDot`; before it the message is incomplete on
 * the server's side, which may not deliver it (RFC 5321 4.2.5, 3.8).
 *
 * On failure: a refusal is reported with the command it answers, a loss with the
 * step it happened in.
 */
import type { Reply } from '#src/mail/reply.ts'
import { formatReply } from '#src/mail/reply.ts'
import { doubleDots, endMark } from './content.ts'
import type { Mail } from './envelope.ts'
import type { TransactionStage } from './result.ts'
import type { Wire } from './wire.ts'

export interface Command {
  readonly step: 'rset' | 'mail' | 'rcpt' | 'data'
  readonly line: string
}

/** How a transaction ended, before the record is added to it. A loss is on the wire. */
export type Ending =
  | { readonly kind: 'accepted'; readonly reply: Reply }
  | { readonly kind: 'rejected'; readonly stage: TransactionStage; readonly reply: Reply; readonly local?: true }
  | { readonly kind: 'lost'; readonly stage: TransactionStage | 'rset' | 'body'; readonly afterDot: boolean }

type Content = Pick<Mail, 'data' | 'mayGo'>
type Unhappy = Exclude<Ending, { kind: 'accepted' }>

/** How the envelope was taken: `isOpen` says that the server now waits for content. */
interface Envelope {
  readonly unhappy: Unhappy | null
  readonly isOpen: boolean
}

/** Bytes that fit into any empty send buffer (Linux gives 16 KB to begin with). */
const ONE_WRITE_BYTES = 16_384
const BLOCK_BYTES = 65_536
const NOTHING = Buffer.alloc(0)

/** The first digit of the reply that lets the conversation go on; RFC 5321 4.2.1 lets it decide. */
const AGREES = { rset: 2, mail: 2, rcpt: 2, data: 3, dot: 2 } as const

/** Carries out the transaction. `commands` end with DATA; `mayPipeline` as the server offered. */
export async function transact(
  wire: Wire,
  commands: readonly Command[],
  mail: Content,
  mayPipeline: boolean,
): Promise<Ending> {
  const { unhappy, isOpen } = await sendEnvelope(wire, commands, mayPipeline)
  if (unhappy !== null) {
    if (isOpen) await sendNothing(wire)
    return unhappy
  }
  const isSent = await sendContent(wire, mail)
  if (!isSent) return explainBreak(wire)
  const reply = await wire.answer('dot')
  return reply !== null && agrees('dot', reply) ? { kind: 'accepted', reply } : explain(wire, 'dot', reply)
}

/** Sends the commands and hears the answers, the first unhappy of which counts. In a pipelined group all are heard. */
async function sendEnvelope(wire: Wire, commands: readonly Command[], mayPipeline: boolean): Promise<Envelope> {
  if (mayPipeline) wire.send(commands.map(({ line }) => line))
  let unhappy: Unhappy | null = null
  for (const { step, line } of commands) {
    if (!mayPipeline) wire.send([line])
    const reply = await wire.answer(step)
    if (reply !== null && agrees(step, reply)) {
      if (step === 'data') return { unhappy, isOpen: true }
      continue
    }
    unhappy ??= explain(wire, step, reply)
    if (!mayPipeline || wire.loss !== null || reply?.code === 421) break
  }
  return { unhappy, isOpen: false }
}

/** @returns true once the end mark has been handed to the socket. */
async function sendContent(wire: Wire, { data, mayGo }: Content): Promise<boolean> {
  const content = doubleDots(data)
  const mark = endMark(data)
  if (!isAllowed(wire, mayGo)) return false
  if (content.length <= ONE_WRITE_BYTES) {
    noteContent(wire, data)
    wire.write(Buffer.concat([content, mark]), 1)
    return true
  }
  for (let at = 0; at < content.length; at += BLOCK_BYTES) {
    const isFlushed = await wire.flush(content.subarray(at, at + BLOCK_BYTES), 'block')
    if (isFlushed) continue
    wire.note(
      `-- after at most ${Math.min(at + BLOCK_BYTES, content.length)} of ${content.length} bytes of the message, without its end`,
    )
    return false
  }
  if (!isAllowed(wire, mayGo)) return false
  noteContent(wire, data)
  wire.write(mark, 1)
  return true
}

/** The last moment at which nothing has happened yet. */
function isAllowed(wire: Wire, mayGo: Content['mayGo']): boolean {
  if (wire.loss === null && mayGo?.() === false) wire.lose('aborted', 'the message was no longer to be sent')
  return wire.loss === null
}

function noteContent(wire: Wire, data: Buffer): void {
  wire.note(`C: [${data.length} bytes]`)
  wire.note('C: .')
}

/** Ends a transaction that the server opened although it had refused the sender or the recipient (RFC 2920 3.1). Its answer changes nothing. */
async function sendNothing(wire: Wire): Promise<void> {
  wire.note('C: .')
  wire.write(endMark(NOTHING), 1)
  const reply = await wire.answer('data')
  if (reply?.code === 421) wire.lose('closed', 'the server ended the session')
}

function agrees(step: keyof typeof AGREES, reply: Reply): boolean {
  return Math.floor(reply.code / 100) === AGREES[step]
}

/** An answer that does not let the conversation go on, or none. After the dot an answer that fits nothing is no evidence either way. */
function explain(wire: Wire, step: Command['step'] | 'dot', reply: Reply | null): Unhappy {
  if (reply !== null && reply.code >= 400 && step !== 'rset') return { kind: 'rejected', stage: step, reply }
  if (reply !== null) wire.lose('protocol', `not an answer to ${step.toUpperCase()}: ${formatReply(reply)}`)
  return { kind: 'lost', stage: step, afterDot: step === 'dot' }
}

/** The content did not get through to its end. Servers that will not have it often say so and hang up. */
function explainBreak(wire: Wire): Unhappy {
  const { farewell } = wire
  return farewell === null
    ? { kind: 'lost', stage: 'body', afterDot: false }
    : { kind: 'rejected', stage: 'dot', reply: farewell }
}
