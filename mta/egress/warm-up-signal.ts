/**
 * Classifies an outcome as a signal about its warming source: accepted, throttled, or no signal. A reply about a
 * recipient or a message shows that the receiver accepts the source. A reply that defers or refuses because of the
 * source, host or destination is throttling. Greylisting is not: it meets every first message of every sender.
 */
import type { Outcome, FailureScope } from '#src/messages/outcome.ts'

const SENDER_SCOPES: ReadonlySet<FailureScope> = new Set(['source', 'host', 'destination'])
/** Refused before any envelope was sent: the receiver refuses the address itself. */
const REFUSED_AT_GREETING = new Set(['greeting-refused', 'ehlo-refused'])

/** Null: no server replied. */
export function classifyWarmUpSignal(outcome: Outcome): 'accepted' | 'throttled' | null {
  if (outcome.kind === 'delivered' || outcome.kind === 'unknown') return 'accepted'
  if (outcome.kind !== 'deferred' && outcome.kind !== 'bounced') return null
  if (REFUSED_AT_GREETING.has(outcome.reason)) return 'throttled'
  if (outcome.reply === null || outcome.reason === 'no-host') return null
  return SENDER_SCOPES.has(outcome.scope) && outcome.reason !== 'greylisted' ? 'throttled' : 'accepted'
}
