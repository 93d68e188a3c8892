/**
 * Results of opening a session and of delivering a message, and what a server offers. All are values: nothing in
 * this folder throws because of a server or a network. A lost connection counts neither as success nor as refusal.
 * Only a complete, well-formed reply is evidence of either; everything else is `lost`.
 */
import { withoutNodeOptions } from '#src/net/node-error-text.ts'
import type { Reply } from '#src/mail/reply.ts'

/**
 * Why a connection ended. closed: the server hung up; network: the socket reported an error; timeout: a step took too
 * long; protocol: the server sent something that is not SMTP, or out of turn; aborted: this side closed it.
 */
export type LossCause = 'closed' | 'network' | 'timeout' | 'protocol' | 'aborted'

export interface Loss {
  readonly cause: LossCause
  /** The system's or OpenSSL's code, such as ECONNREFUSED, if any. */
  readonly code: string | null
  /** One line for people. */
  readonly detail: string
}

/** The extensions that a server offers and this client uses. */
export interface Capabilities {
  /** RFC 2920 */
  readonly pipelining: boolean
  /** RFC 3207 */
  readonly starttls: boolean
  /** RFC 6152 */
  readonly eightBitMime: boolean
  /** RFC 6531 */
  readonly smtputf8: boolean
  /** RFC 2034 */
  readonly enhancedStatusCodes: boolean
  /** RFC 1870, in bytes: 0 = offered without a limit, null = not offered. */
  readonly size: number | null
  /** RFC 4954: mechanisms, in upper case. */
  readonly auth: readonly string[]
}

export type OpenStage = 'connect' | 'greeting' | 'ehlo' | 'starttls' | 'tls' | 'auth'

/** Why no session was opened: the server's refusal (`reply`) or the loss of the connection, never both. */
export interface OpenFailure {
  readonly stage: OpenStage
  readonly reply: Reply | null
  readonly loss: Loss | null
  /** The conversation from the connection on: `C: `, `S: ` and `-- ` (remark) lines. */
  readonly transcript: readonly string[]
  /** The local address of the connection. */
  readonly localAddress?: string
}

export type TransactionStage = 'mail' | 'rcpt' | 'data' | 'dot'

interface TransactionRecord {
  /** The conversation of this transaction, after the session's `opening` lines. */
  readonly conversation: readonly string[]
  /** From the first command to the result. */
  readonly durationMs: number
}

interface Accepted extends TransactionRecord {
  readonly kind: 'accepted'
  readonly reply: Reply
}

/** A 4xx or 5xx reply to this message. `local`: rejected on this side; the server was not asked. */
interface Rejected extends TransactionRecord {
  readonly kind: 'rejected'
  readonly stage: TransactionStage
  readonly reply: Reply
  readonly local?: true
}

/**
 * The connection ended without a reply to this message. `afterDot`: the end-of-data mark was written to the socket, so
 * the server may have the message; false only if it certainly does not.
 */
interface Lost extends TransactionRecord, Loss {
  readonly kind: 'lost'
  readonly stage: TransactionStage | 'rset' | 'body'
  readonly afterDot: boolean
}

export type TransactionResult = Accepted | Rejected | Lost

/** Describes a socket error on one line: OpenSSL's messages name source files and end in a line break. */
export function describeError(error: NodeJS.ErrnoException & { reason?: string }): Loss {
  return {
    cause: 'network',
    code: error.code ?? null,
    detail: withoutNodeOptions(error.reason ?? error.message)
      .replaceAll(/\s+/g, ' ')
      .trim(),
  }
}
