/**
 * Classifies opens and clicks some seconds after the response, and raises their events (src/tracking/hit-recorder.ts).
 */
import type { Context } from '#src/context.ts'
import { isTransactionConflict } from '#src/stores/db.ts'
import { recordHits } from '#src/tracking/hit-recorder.ts'
import type { IdlingRound } from './loop.ts'

export function createTrackingRound(ctx: Context): IdlingRound {
  return async () => {
    try {
      return await recordHits(ctx)
    } catch (error) {
      if (isTransactionConflict(error)) return 'more'
      throw error
    }
  }
}
