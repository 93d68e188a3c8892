/**
 * The script of a test receiver: for each stage of the SMTP dialog an action, fixed or computed from the dialog so
 * far. At a stage without a rule the receiver replies as a normal server does.
 */

import type { Certificate } from './certificate.ts'

/** greeting: on connect. body: after the first bytes of a message (`bodyAfter`). other: any other command. */
export type ReceiverStage =
  | 'greeting'
  | 'ehlo'
  | 'helo'
  | 'starttls'
  | 'mail'
  | 'rcpt'
  | 'data'
  | 'body'
  | 'dot'
  | 'rset'
  | 'noop'
  | 'quit'
  | 'other'

/** One action in detail. Fields that are left out have the default of a normal server. */
export interface ReceiverAction {
  /** Waits before anything else. */
  readonly delayMs?: number
  /** Waits for it before anything else: the test decides when the server goes on. */
  readonly gate?: Promise<unknown>
  /** The reply without its last CRLF; its first digit decides what happens to the transaction. */
  readonly reply?: string
  /** Bytes sent as they are instead of `reply`; a leading digit counts as that of a reply. */
  readonly raw?: string | Buffer
  /**
   * After the reply, if there is one. silence: sends no more replies, but reads on. stall: stops reading, too.
   * close: FIN. reset: RST.
   */
  readonly end?: 'silence' | 'stall' | 'close' | 'reset'
  /** At `dot`: the message is recorded, or not, whatever the reply says. */
  readonly accepts?: boolean
}

/** The state of the dialog when a rule is evaluated. */
export interface ReceiverState {
  readonly stage: ReceiverStage
  /** The command line; '' at greeting, body and dot. */
  readonly line: string
  /** The address in a MAIL or RCPT, without brackets. */
  readonly address: string
  readonly from: string
  /** The recipients accepted so far. */
  readonly to: readonly string[]
  /** Connections are counted from 1. */
  readonly connection: number
  /** Messages accepted on this connection so far. */
  readonly acceptedCount: number
  readonly tls: boolean
  /** The address that it comes from. */
  readonly peer: string
}

type Answer = string | ReceiverAction | undefined

export interface ReceiverScript {
  /** Our name in the greeting and in the certificate. */
  readonly name?: string
  /** Shown instead of a self-signed one for our name. */
  readonly certificate?: Certificate
  /** EHLO keywords by extension; false is not offered. */
  readonly offers?: Partial<Record<'pipelining' | 'starttls' | 'size' | 'smtputf8' | 'eightBitMime', boolean>>
  /** The limit announced with SIZE, bytes. */
  readonly sizeLimit?: number
  /** A rule is a reply, an action, or a function of the state; undefined is the default action. */
  readonly on?: Partial<Record<ReceiverStage, Answer | ((moment: ReceiverState) => Answer)>>
  /** How many bytes of a message have to be there for the stage `body`. */
  readonly bodyAfter?: number
  /** What becomes of the TLS handshake: dropped, answered with rubbish, never answered. */
  readonly handshake?: 'drop' | 'rubbish' | 'silence'
  /** The highest version of TLS that is spoken; below 1.2 no current client agrees. */
  readonly maxTls?: 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3'
  /** After so many messages on one connection MAIL gets 421, and the connection is closed. */
  readonly messagesPerConnection?: number
}

const DEFAULT_ACTIONS: Readonly<Record<Exclude<ReceiverStage, 'greeting' | 'ehlo' | 'helo'>, ReceiverAction>> = {
  starttls: { reply: '220 2.0.0 Ready to start TLS' },
  mail: { reply: '250 2.1.0 Ok' },
  rcpt: { reply: '250 2.1.5 Ok' },
  data: { reply: '354 End data with <CR><LF>.<CR><LF>' },
  body: {},
  dot: { reply: '250 2.0.0 Ok: taken' },
  rset: { reply: '250 2.0.0 Ok' },
  noop: { reply: '250 2.0.0 Ok' },
  quit: { reply: '221 2.0.0 Bye', end: 'close' },
  other: { reply: '500 5.5.2 Command not recognized' },
}

/** The action of the script in this state. */
export function chooseAction(script: ReceiverScript, state: ReceiverState): ReceiverAction {
  const rule = script.on?.[state.stage]
  const answer = typeof rule === 'function' ? rule(state) : rule
  const action = defaultAction(script, state)
  if (answer === undefined) return action
  if (typeof answer === 'string') return state.stage === 'quit' ? { ...action, reply: answer } : { reply: answer }
  // An action with a delay only keeps the default reply.
  const isComplete = answer.reply !== undefined || answer.raw !== undefined || answer.end !== undefined
  return isComplete ? answer : { ...action, ...answer }
}

function defaultAction(script: ReceiverScript, { stage, from, to, acceptedCount, tls }: ReceiverState): ReceiverAction {
  const name = script.name ?? 'mx.test'
  if (stage === 'greeting') return { reply: `220 ${name} ESMTP` }
  if (stage === 'helo') return { reply: `250 ${name}` }
  if (stage === 'ehlo') return { reply: formatEhloReply(script, name, tls) }
  if (stage === 'mail' && acceptedCount >= (script.messagesPerConnection ?? Infinity))
    return { reply: '421 4.7.0 Too many messages on this connection', end: 'close' }
  if (stage === 'rcpt' && from === NO_SENDER) return { reply: '503 5.5.1 Need MAIL before RCPT' }
  if (stage === 'data' && to.length === 0) return { reply: '503 5.5.1 Need RCPT before DATA' }
  return DEFAULT_ACTIONS[stage]
}

/** The value of `from` before MAIL is accepted: '' is the null sender. */
export const NO_SENDER = '\0'

function formatEhloReply(script: ReceiverScript, name: string, tls: boolean): string {
  const offers = { pipelining: true, starttls: true, size: true, smtputf8: true, eightBitMime: true, ...script.offers }
  const keywords = [
    name,
    offers.pipelining && 'PIPELINING',
    offers.size && `SIZE ${script.sizeLimit ?? 52_428_800}`,
    offers.starttls && !tls && 'STARTTLS',
    offers.eightBitMime && '8BITMIME',
    offers.smtputf8 && 'SMTPUTF8',
    'ENHANCEDSTATUSCODES',
  ].filter((keyword) => keyword !== false)
  return keywords.map((keyword, i) => `250${i === keywords.length - 1 ? ' ' : '-'}${keyword}`).join('\r\n')
}
