/** The one word for a message, from the states of its recipients: the least finished of them speaks for it, and among finished ones the worst. */
import type { State } from './state.ts'

/** First one that any recipient is in is the message's status. */
const PRECEDENCE: readonly State[] = [
  'scheduled',
  'queued',
  'sending',
  'deferred',
  'unknown',
  'bounced',
  'failed',
  'sent',
  'delivered',
  'captured',
  'suppressed',
  'cancelled',
]

/** Every status a message can have. */
export const STATUSES = PRECEDENCE as readonly [State, ...State[]]

export function statusOf(states: readonly State[]): State {
  return PRECEDENCE.find((state) => states.includes(state)) ?? 'queued'
}

/** The same rule as a condition on `states`, an SQL expression of type text[]. */
export function hasStatus(status: State, states: string): string {
  const before = PRECEDENCE.slice(0, PRECEDENCE.indexOf(status))
  return `('${status}' = ANY (${states}) AND NOT ${states} && '{${before.join(',')}}'::text[])`
}
