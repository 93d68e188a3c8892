/**
 * What became of one attempt: a value, never an exception. Unknown means temporary; only a receiver's own 5xx ends a delivery.
 * Scope says what the failure is about, so that the right thing waits: one address, one message, one host, a whole destination, or our own source.
 */
import type { Reply } from '#src/mail/reply.ts'

export type Scope = 'recipient' | 'message' | 'host' | 'destination' | 'source'

export type Outcome =
  | { readonly kind: 'delivered'; readonly reply: Reply }
  /** A provider took it, to deliver it or not. */
  | { readonly kind: 'handed-over'; readonly reply: Reply }
  | {
      readonly kind: 'deferred'
      readonly scope: Scope
      readonly reason: string
      readonly detail: string
      readonly reply: Reply | null
      readonly isCounted: boolean
    }
  | {
      readonly kind: 'bounced'
      readonly scope: Scope
      readonly reason: string
      readonly isHard: boolean
      readonly detail: string
      readonly reply: Reply | null
    }
  | { readonly kind: 'unknown'; readonly reason: string; readonly detail: string }
  /** Its address came on the suppression list after it was accepted; nothing was sent. */
  | {
      readonly kind: 'suppressed'
      readonly reason: 'suppressed'
      readonly detail: string
      readonly cause: string
      readonly causeKind: string
    }
  /** We cannot or may not send it: poison, a deleted domain, too old. */
  | { readonly kind: 'failed'; readonly reason: string; readonly detail: string }
  /** None of our addresses, or not the account, may carry it now, or it is not known yet how it must be protected: it waits, and no try was made. */
  | {
      readonly kind: 'held'
      readonly reason: 'no-source' | 'account' | 'tls-policy' | 'template'
      readonly detail: string
      readonly untilMs: number
    }

/** One try for one recipient, as it is kept. */
export interface Attempt {
  readonly outcome: Outcome
  readonly host: string | null
  readonly address: string | null
  readonly source: string | null
  readonly tls: string | null
  readonly startedAt: number
  readonly durationMs: number
  readonly conversation: string
}
