/** What automations leave to be done: counts are folded, who is in an archived one leaves it, and what is old is forgotten. */
import { deleteOldCalls } from '#src/automations/webhook-calls.ts'
import { deleteEnded, exitArchived, applyCounterDeltas, applyStepCounterDeltas } from '#src/automations/maintenance.ts'
import type { Context } from '#src/context.ts'
import type { LoopSpec } from './loop.ts'

const EVERY_MS = 5000

export function automationUpkeepLoop(ctx: Context): LoopSpec {
  return {
    name: 'automation upkeep',
    everyMs: EVERY_MS,
    round: async () => {
      const isFolding = [await applyCounterDeltas(ctx.db), await applyStepCounterDeltas(ctx.db)].includes(true)
      const now = new Date(ctx.clock.now())
      return [
        isFolding,
        await exitArchived(ctx.db, now),
        await deleteEnded(ctx.db, now),
        await deleteOldCalls(ctx),
      ].includes(true)
    },
  }
}
