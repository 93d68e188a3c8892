/**
 * Maps an attempt to its row in the table `attempts`: the parameters that the transition's statement (transition.ts)
 * gets.
 */
import type { BinaryColumn } from '#src/stores/binary-columns.ts'
import { publicNameOf, type Attempt } from './outcome.ts'

export interface EndedAttempt extends Attempt {
  /** The position of its transition in the batch, from 1. */
  readonly ord: number
  readonly number: number
}

/** `ord`, and the columns of the table. */
export const ATTEMPT_INPUT: Readonly<Record<string, BinaryColumn<EndedAttempt>>> = {
  ord: ['bigint', (a) => a.ord],
  attempt: ['smallint', (a) => a.number],
  at: ['timestamptz', (a) => new Date(a.startedAt)],
  outcome: ['text', (a) => publicNameOf(a.outcome)],
  scope: ['text', (a) => ('scope' in a.outcome ? a.outcome.scope : null)],
  reason: ['text', (a) => ('reason' in a.outcome ? a.outcome.reason : null)],
  reply_code: ['smallint', (a) => replyOf(a)?.code ?? null],
  reply_status: ['text', (a) => replyOf(a)?.enhanced ?? null],
  reply_text: ['text', (a) => replyOf(a)?.text ?? detailOf(a)],
  host: ['text', (a) => a.host],
  address: ['text', (a) => a.address],
  source: ['text', (a) => a.source],
  tls: ['text', (a) => a.tls],
  duration_ms: ['integer', (a) => Math.round(a.durationMs)],
  conversation: ['text', (a) => a.conversation],
}
export const ATTEMPT_COLUMNS = Object.keys(ATTEMPT_INPUT).filter((name) => name !== 'ord')

function replyOf({ outcome }: Attempt): { code: number; enhanced: string | null; text: string } | null {
  return 'reply' in outcome ? outcome.reply : null
}

function detailOf({ outcome }: Attempt): string | null {
  return 'detail' in outcome ? outcome.detail : null
}
