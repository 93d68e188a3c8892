/**
 * Maps the attempt that a transition ends to its row in the table `attempts`: parameters of the transition's statement
 * (transition.ts), which are null for a transition without an attempt.
 */
import type { BinaryColumn } from '#src/stores/binary-columns.ts'
import { publicNameOf, type Attempt } from './outcome.ts'

interface EndedAttempt extends Attempt {
  readonly number: number
}

/** A transition, as far as it is about its attempt. */
interface EndsAttempt {
  readonly attempt: { readonly number: number; readonly record: Attempt } | null
}

const COLUMNS: Readonly<Record<string, BinaryColumn<EndedAttempt>>> = {
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
export const ATTEMPT_COLUMNS = Object.keys(COLUMNS)

/** The name of the parameter of a column. */
export function attemptParameter(column: string): string {
  return `attempt_${column}`
}

export const ATTEMPT_INPUT: Readonly<Record<string, BinaryColumn<EndsAttempt>>> = Object.fromEntries(
  Object.entries(COLUMNS).map(([name, [type, pick]]): [string, BinaryColumn<EndsAttempt>] => [
    attemptParameter(name),
    [type, ({ attempt }) => (attempt === null ? null : pick({ ...attempt.record, number: attempt.number }))],
  ]),
)

function replyOf({ outcome }: Attempt): { code: number; enhanced: string | null; text: string } | null {
  return 'reply' in outcome ? outcome.reply : null
}

function detailOf({ outcome }: Attempt): string | null {
  return 'detail' in outcome ? outcome.detail : null
}
