/** The one word for a message, from the states of its recipients: the least finished of them speaks for it, and among finished ones the worst. */
import type { State } from './state.ts'

/** First one that any recipient is in is the message's status. */
const ORDER: readonly (readonly [state: State, status: string])[] = [
  ['scheduled', 'scheduled'], ['queued', 'queued'], ['sending', 'sending'], ['deferred', 'deferred'], ['unknown', 'unknown'],
  ['bounced', 'bounced'], ['failed', 'failed'], ['sent', 'sent'], ['delivered', 'delivered'], ['suppressed', 'suppressed'], ['cancelled', 'cancelled'],
]

export function statusOf(states: readonly State[]): string {
  return ORDER.find(([state]) => states.includes(state))?.[1] ?? 'queued'
}
