/**
 * What opening a session and delivering a message can come to. All of it is
 * values: nothing in this room throws because a server or a network misbehaved.
 * Unknown never counts as success and never as refusal: only a complete, well
 * formed reply is evidence of either, and everything else is `lost`.
 */
import type { Reply } from '#src/mail/reply.ts'

/**
 * Why a connection ended. closed: the server hung up; network: the socket reported an error; timeout: a step took too long;
 * protocol: the server said something that is no SMTP, or out of turn; aborted: our own side ended it.
 */
export type Cause = 'closed' | 'network' | 'timeout' | 'protocol' | 'aborted'

export interface Loss {
  readonly cause: Cause
  /** The system's or OpenSSL's code, e.g. ECONNREFUSED, where there is one. */
  readonly code: string | null
  /** One line for people. */
  readonly detail: string
}

export type OpenStage = 'connect' | 'greeting' | 'ehlo' | 'starttls' | 'tls' | 'auth'

/** Why no session was opened: the server's refusal (`reply`), or the loss of the connection, never both. */
export interface OpenFailure {
  readonly stage: OpenStage
  readonly reply: Reply | null
  readonly loss: Loss | null
  /** `C: `, `S: ` and `-- ` (remarks) lines, from the connection on. */
  readonly transcript: readonly string[]
  /** Of ours that it was connected from. */
  readonly localAddress?: string
}

export type TransactionStage = 'mail' | 'rcpt' | 'data' | 'dot'

interface Told {
  /** `C: `, `S: ` and `-- ` lines of this transaction; the session's `opening` lines came before. */
  readonly conversation: readonly string[]
  /** From the first command to the result. */
  readonly durationMs: number
}

interface Accepted extends Told {
  readonly kind: 'accepted'
  readonly reply: Reply
}

/** A 4xx or 5xx answer to this message. `local`: we gave it ourselves, the server was not asked. */
interface Rejected extends Told {
  readonly kind: 'rejected'
  readonly stage: TransactionStage
  readonly reply: Reply
  readonly local?: true
}

/**
 * The connection ended without an answer to this message. `afterDot`: the end-of-message mark had been handed to the
 * socket, so the server may have the message; false only where it certainly has not.
 */
interface Lost extends Told, Loss {
  readonly kind: 'lost'
  readonly stage: TransactionStage | 'rset' | 'body'
  readonly afterDot: boolean
}

export type TransactionResult = Accepted | Rejected | Lost

/** What an error of a socket says, on one line: OpenSSL's messages name source files and end in a line break. */
export function describeError(error: NodeJS.ErrnoException & { reason?: string }): Loss {
  return {
    cause: 'network',
    code: error.code ?? null,
    detail: (error.reason ?? error.message).replaceAll(/\s+/g, ' ').trim(),
  }
}
