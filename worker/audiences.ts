/**
 * The upkeep of audiences: notes of changed memberships are folded into counts and marks, what is left of deleted audiences is cleared.
 * Nobody waits for either: counts are exact before, and what is deleted is not seen. Two workers may do both at once.
 */
import { purgeDeletedAudiences } from '#src/contacts/purge-contacts.ts'
import { applyCounterDeltas } from '#src/contacts/apply-counter-deltas.ts'
import type { Context } from '#src/context.ts'
import type { LoopSpec } from './loop.ts'

/**
 * Readers add up what is not folded: a quarter of a second of changes. Scoring after a large import makes some twenty thousand a second, and
 * pages had to read that many.
 */
const FOLD_EVERY_MS = 250
const CLEAR_EVERY_MS = 5000

export function audienceFoldLoop(ctx: Context): LoopSpec {
  return { name: 'audience fold', everyMs: FOLD_EVERY_MS, round: () => applyCounterDeltas(ctx) }
}

export function audienceClearLoop(ctx: Context): LoopSpec {
  return { name: 'audience clear', everyMs: CLEAR_EVERY_MS, round: () => purgeDeletedAudiences(ctx.db) }
}
