/**
 * The outcome of a delivery that did not succeed: no host gave a session, the server rejected the message, or the
 * connection was lost. `hasSessionEnded` recognises a failure that concerns the session, not the message.
 */
import { classifyReply } from '#mta/classify/reply.ts'
import type { TransactionResult } from '#mta/smtp/result.ts'
import type { Session } from '#mta/smtp/session.ts'
import { composeReply, formatReply } from '#src/mail/reply.ts'
import type { Outcome } from '#src/messages/outcome.ts'
import type { ConnectFailure } from './connect.ts'

/** No reply to the message: the attempt is not counted. */
export function unreachable({ reason, detail, reply, isLocalFault }: ConnectFailure): Outcome {
  return {
    kind: 'deferred',
    scope: isLocalFault === true ? 'source' : 'host',
    reason,
    detail,
    reply: reply ?? null,
    isCounted: false,
  }
}

/** RFC 3463 X.4.4. A soft bounce: the address may be good, the DNS of its domain is not. */
export function unroutable({ detail }: ConnectFailure): Outcome {
  const reply = composeReply(550, '5.4.4', detail)
  return { kind: 'bounced', scope: 'destination', reason: 'no-host', isHard: false, detail: formatReply(reply), reply }
}

/** `to`: the recipient. */
export function outcomeOfFailure(result: Exclude<TransactionResult, { kind: 'accepted' }>, to: string): Outcome {
  if (result.kind === 'rejected') return classifyReply(result.stage, result.reply, to)
  if (result.afterDot)
    return {
      kind: 'unknown',
      reason: 'lost-after-dot',
      detail: `the connection was lost after the final dot (${result.detail}): the receiver may have the message`,
    }
  return {
    kind: 'deferred',
    scope: 'host',
    reason: 'link-lost',
    detail: `the connection was lost at ${result.stage}: ${result.detail}`,
    reply: null,
    isCounted: false,
  }
}

/** Whether the session ended while idle, or because it has carried its share of messages: try another session. */
export function hasSessionEnded(session: Session, result: TransactionResult): boolean {
  return isStale(result) || isConnectionUsedUp(session, result)
}

/** The connection was lost before the server answered any command about this message. */
function isStale(result: TransactionResult): boolean {
  return result.kind === 'lost' && !result.afterDot && (result.stage === 'mail' || result.stage === 'rset')
}

/** 421 at MAIL after earlier messages concerns the connection: many servers end a connection so after some messages. */
function isConnectionUsedUp(session: Session, result: TransactionResult): boolean {
  return result.kind === 'rejected' && result.reply.code === 421 && result.stage === 'mail' && session.delivered > 0
}
