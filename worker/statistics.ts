/** The rounds of statistics: new events are counted every five seconds, and minutes rolled up. See `src/statistics`. */
import type { Context } from '#src/context.ts'
import { countEvents } from '#src/statistics/count-events.ts'
import { deleteOrphans, rollUp } from '#src/statistics/roll-up.ts'
import type { Round } from './loop.ts'

export function createStatisticsRound(ctx: Context): Round {
  return () => countEvents(ctx)
}

export function createRollUpRound(ctx: Context): Round {
  return async () => {
    const isMore = await rollUp(ctx)
    if (!isMore) await deleteOrphans(ctx)
    return isMore
  }
}
