/** The status of a message: the least finished state of its recipients, or among finished states the worst. */
import type { State } from './state.ts'

/** The status is the first of these that any recipient has. */
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
