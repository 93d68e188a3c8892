/** The counts of automations are folded, and who is in an archived one leaves it. */
import { endArchived, foldCounts } from '#src/automations/upkeep.ts'
import type { Context } from '#src/context.ts'
import type { LoopSpec } from './loop.ts'

const EVERY_MS = 5000

export function automationUpkeepLoop(ctx: Context): LoopSpec {
  return {
    name: 'automation upkeep', everyMs: EVERY_MS,
    round: async () => {
      const isFolding = await foldCounts(ctx.db)
      const isEnding = await endArchived(ctx.db, new Date(ctx.clock.now()))
      return isFolding || isEnding
    },
  }
}
