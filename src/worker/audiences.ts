/**
 * The upkeep of audiences: notes of changed memberships are folded into counts and marks, what is left of deleted audiences is cleared.
 * Nobody waits for either: counts are exact before, and what is deleted is not seen. Two workers may do both at once.
 */
import { clearDeleted } from '#src/contacts/clear.ts'
import { foldNotes } from '#src/contacts/fold.ts'
import type { Context } from '#src/context.ts'
import type { LoopSpec } from './loop.ts'

/** Readers add up what is not folded, so that they have to read about a second of changes. */
const FOLD_EVERY_MS = 1000
const CLEAR_EVERY_MS = 5000

export function audienceFoldLoop(ctx: Context): LoopSpec {
  return { name: 'audience fold', everyMs: FOLD_EVERY_MS, round: () => foldNotes(ctx) }
}

export function audienceClearLoop(ctx: Context): LoopSpec {
  return { name: 'audience clear', everyMs: CLEAR_EVERY_MS, round: () => clearDeleted(ctx.db) }
}
