/**
 * What an outcome says of the source it came by: how the receiver takes it, or nothing. An answer about a recipient or the message is mail
 * that was taken note of; one that puts off or refuses for the sake of source, host or destination is throttling. Greylisting is not: it
 * meets every first mail of everybody.
 */
import type { Outcome, Scope } from '#src/messages/outcome.ts'

const ABOUT_US: ReadonlySet<Scope> = new Set(['source', 'host', 'destination'])
/** Refused before a message was named: a receiver that does not want the address. */
const REFUSED_AT_THE_DOOR = new Set(['greeting-refused', 'ehlo-refused'])

/** Null: no server answered. */
export function judgeAnswer(outcome: Outcome): 'taken' | 'throttled' | null {
  if (outcome.kind === 'delivered' || outcome.kind === 'unknown') return 'taken'
  if (outcome.kind !== 'deferred' && outcome.kind !== 'bounced') return null
  if (REFUSED_AT_THE_DOOR.has(outcome.reason)) return 'throttled'
  if (outcome.reply === null || outcome.reason === 'no-host') return null
  return ABOUT_US.has(outcome.scope) && outcome.reason !== 'greylisted' ? 'throttled' : 'taken'
}
