/**
 * One message on its way through a transport: its conversation, its transaction, and what becomes of it when the transport is told to stop.
 * Cut short, a transaction ends with its connection and says how far it was; anything before it is not waited for, and nothing came of it.
 */
import type { Socket } from 'node:net'
import { classifyReply } from '#mta/classify/reply.ts'
import type { Mail } from '#mta/smtp/envelope.ts'
import type { TransactionResult } from '#mta/smtp/result.ts'
import type { Session } from '#mta/smtp/session.ts'
import type { Outcome } from '#src/messages/outcome.ts'

export interface Errand {
  readonly mail: Mail
  /** The conversation so far. */
  readonly lines: string[]
  isInTransaction: boolean
  isCut: boolean
  readonly cut: PromiseWithResolvers<null>
}

export function newErrand(mail: Mail): Errand {
  return { mail, lines: [], isInTransaction: false, isCut: false, cut: Promise.withResolvers<null>() }
}

export interface Errands {
  readonly isAborted: boolean
  /** For each connection that a transport opens. */
  watch(socket: Socket): void
  /** Null when it was cut short and the receiver cannot have the message. */
  carry<D extends { readonly outcome: Outcome }>(errand: Errand, done: Promise<D | null>): Promise<D | null>
  /** What the receiver may have ends as unknown, the rest at once. */
  abort(): void
  /** Ends the connections from an address. */
  cutFrom(address: string): void
}

export function createErrands(): Errands {
  const underWay = new Set<Errand>()
  const sockets = new Set<Socket>()
  let isAborted = false
  return {
    get isAborted() {
      return isAborted
    },
    watch: (socket) => {
      if (isAborted) socket.destroy()
      else sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
    },
    carry: async (errand, carried) => {
      underWay.add(errand)
      const done = await Promise.race([carried, errand.cut.promise])
      underWay.delete(errand)
      return done === null || (errand.isCut && done.outcome.kind === 'deferred') ? null : done
    },
    abort: () => {
      isAborted = true
      for (const errand of underWay) cutShort(errand)
      for (const socket of sockets) socket.destroy()
    },
    cutFrom: (address) => {
      for (const socket of sockets) if (socket.localAddress === address) socket.destroy()
    },
  }
}

function cutShort(errand: Errand): void {
  errand.isCut = true
  if (!errand.isInTransaction) errand.cut.resolve(null)
}

export async function transact(session: Session, errand: Errand): Promise<TransactionResult> {
  const { lines, mail } = errand
  errand.isInTransaction = true
  const result = await session.deliver(mail)
  errand.isInTransaction = false
  for (const line of result.conversation) lines.push(line)
  if (result.kind === 'lost') lines.push(`-- lost at ${result.stage}: ${result.detail}`)
  return result
}

/** An open session ended while it was idle, or at this message, having carried its share: another one tells whether there was more to it. */
export function hasEnded(session: Session, result: TransactionResult): boolean {
  return isStale(result) || isFullUp(session, result)
}

/** Lost before the server had said anything about this message. */
function isStale(result: TransactionResult): boolean {
  return result.kind === 'lost' && !result.afterDot && (result.stage === 'mail' || result.stage === 'rset')
}

/** 421 at MAIL on a connection that has carried mail is about the connection: many servers end one this way after its share of messages. */
function isFullUp(session: Session, result: TransactionResult): boolean {
  return result.kind === 'rejected' && result.reply.code === 421 && result.stage === 'mail' && session.delivered > 0
}

export function outcomeOf(result: TransactionResult, { mail }: Pick<Errand, 'mail'>): Outcome {
  if (result.kind === 'accepted') return { kind: 'delivered', reply: result.reply }
  if (result.kind === 'rejected') return classifyReply(result.stage, result.reply, mail.to)
  if (result.afterDot)
    return {
      kind: 'unknown',
      reason: 'lost-after-dot',
      detail: `the link was lost after the final dot (${result.detail}): the receiver may have it`,
    }
  return {
    kind: 'deferred',
    scope: 'host',
    reason: 'link-lost',
    detail: `the link was lost at ${result.stage}: ${result.detail}`,
    reply: null,
    isCounted: false,
  }
}
