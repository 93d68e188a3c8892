/** What automations leave to be done: counts are folded, who is in an archived one leaves it, and what is old is forgotten. */
import { clearCalls } from '#src/automations/webhook-calls.ts'
import { clearEnded, endArchived, foldCounts, foldSteps } from '#src/automations/maintenance.ts'
import type { Context } from '#src/context.ts'
import type { LoopSpec } from './loop.ts'

const EVERY_MS = 5000

export function automationUpkeepLoop(ctx: Context): LoopSpec {
  return {
    name: 'automation upkeep',
    everyMs: EVERY_MS,
    round: async () => {
      const isFolding = [await foldCounts(ctx.db), await foldSteps(ctx.db)].includes(true)
      const now = new Date(ctx.clock.now())
      return [isFolding, await endArchived(ctx.db, now), await clearEnded(ctx.db, now), await clearCalls(ctx)].includes(
        true,
      )
    },
  }
}
