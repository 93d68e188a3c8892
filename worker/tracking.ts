/**
 * Classifies opens and clicks some seconds after the response, and raises their events (src/tracking/hit-recorder.ts).
 */
import type { Context } from '#src/context.ts'
import { isTransactionConflict } from '#src/stores/db.ts'
import { recordHits } from '#src/tracking/hit-recorder.ts'
import type { Round } from './loop.ts'

export function createTrackingRound(ctx: Context): Round {
  return async () => {
    try {
      return await recordHits(ctx)
    } catch (error) {
      if (isTransactionConflict(error)) return true
      throw error
    }
  }
}
