/**
 * The result of one attempt: a value, never an exception. Anything uncertain is temporary; only a receiver's own 5xx
 * ends a delivery. The scope says what the failure is about, so that only that waits: one address, one message, one
 * host, a whole destination, or our own source.
 */
import type { Reply } from '#src/mail/reply.ts'

export type FailureScope = 'recipient' | 'message' | 'host' | 'destination' | 'source'

export type Outcome =
  | { readonly kind: 'delivered'; readonly reply: Reply }
  /** A provider accepted it for relay; whether it is delivered is not known yet. */
  | { readonly kind: 'relayed'; readonly reply: Reply }
  | {
      readonly kind: 'deferred'
      readonly scope: FailureScope
      readonly reason: string
      readonly detail: string
      readonly reply: Reply | null
      readonly isCounted: boolean
    }
  | {
      readonly kind: 'bounced'
      readonly scope: FailureScope
      readonly reason: string
      readonly isHard: boolean
      readonly detail: string
      readonly reply: Reply | null
    }
  | { readonly kind: 'unknown'; readonly reason: string; readonly detail: string }
  /** Its address was suppressed after the message was accepted; nothing was sent. */
  | {
      readonly kind: 'suppressed'
      readonly reason: 'suppressed'
      readonly detail: string
      readonly cause: string
      readonly causeKind: string
    }
  /** It cannot or may not be sent: it cannot be composed, its domain was deleted, it is too old. */
  | { readonly kind: 'failed'; readonly reason: string; readonly detail: string }
  /**
   * No attempt was made, and it waits: no source or account may send it now, or its TLS policy or template is not
   * available yet.
   */
  | {
      readonly kind: 'postponed'
      readonly reason: 'no-source' | 'account' | 'tls-policy' | 'template'
      readonly detail: string
      readonly untilMs: number
    }

export type Deferral = Extract<Outcome, { readonly kind: 'deferred' }>

/**
 * The names of outcomes in stored attempts, the API and metrics where they differ from the names here: published names
 * stay.
 */
const PUBLIC_NAMES: Readonly<Record<string, string>> = { relayed: 'handed-over', postponed: 'held' }

export function publicNameOf({ kind }: Pick<Outcome, 'kind'>): string {
  return PUBLIC_NAMES[kind] ?? kind
}

/** One attempt for one recipient, as it is stored. */
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

/** The attempt of an outcome that was known before any server was asked. `startedAt`: epoch ms. */
export function attemptWithoutSession(outcome: Outcome, startedAt: number): Attempt {
  return {
    outcome,
    startedAt,
    durationMs: 0,
    host: null,
    address: null,
    source: null,
    tls: null,
    conversation: 'detail' in outcome ? `-- ${outcome.detail}` : '',
  }
}
