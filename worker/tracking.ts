/** Tells of opens and clicks that were answered some seconds ago (src/tracking/hit-recorder.ts), by whichever worker comes to it. */
import type { Context } from '#src/context.ts'
import { isTransactionConflict } from '#src/messages/transition.ts'
import { recordHits } from '#src/tracking/hit-recorder.ts'
import type { LoopSpec } from './loop.ts'

const EVERY_MS = 250

export function trackingLoop(ctx: Context): LoopSpec {
  return {
    name: 'tracking',
    everyMs: EVERY_MS,
    round: async () => {
      try {
        return await recordHits(ctx)
      } catch (error) {
        if (isTransactionConflict(error)) return true
        throw error
      }
    },
  }
}
