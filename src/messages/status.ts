/** The one word for a message, from the states of its recipients: the least finished of them speaks for it, and among finished ones the worst. */
import type { State } from './state.ts'

/** First one that any recipient is in is the message's status. */
const ORDER: readonly State[] = [
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
export const STATUSES = ORDER as readonly [State, ...State[]]

export function statusOf(states: readonly State[]): State {
  return ORDER.find((state) => states.includes(state)) ?? 'queued'
}

/** The same rule as a condition on `states`, an SQL expression of type text[]. */
export function hasStatus(status: State, states: string): string {
  const before = ORDER.slice(0, ORDER.indexOf(status))
  return `('${status}' = ANY (${states}) AND NOT ${states} && '{${before.join(',')}}'::text[])`
}
