/**
 * The rounds of statistics: new events are counted every five seconds, under load every fifteen, and minutes rolled up.
 * See `src/statistics`.
 */
import type { Context } from '#src/context.ts'
import { countSlice, intervalsAt } from '#src/statistics/count-events.ts'
import { deleteOrphans, rollUp } from '#src/statistics/roll-up.ts'
import type { Round, ScaledRound } from './loop.ts'

export function createStatisticsRound(ctx: Context): ScaledRound {
  return async () => {
    const { isMore, perSecond } = await countSlice(ctx)
    return isMore ? 0 : intervalsAt(perSecond)
  }
}

export function createRollUpRound(ctx: Context): Round {
  return async () => {
    const isMore = await rollUp(ctx)
    if (!isMore) await deleteOrphans(ctx)
    return isMore
  }
}
