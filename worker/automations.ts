/** Maintains automations: applies counter deltas, ends enrolments of archived automations and deletes old rows. */
import { deleteOldCalls } from '#src/automations/webhook-calls.ts'
import { deleteEnded, exitArchived, applyCounterDeltas, applyStepCounterDeltas } from '#src/automations/maintenance.ts'
import type { Context } from '#src/context.ts'
import type { Round } from './loop.ts'

export function createAutomationMaintenanceRound(ctx: Context): Round {
  return async () => {
    const isFolding = [await applyCounterDeltas(ctx.db), await applyStepCounterDeltas(ctx.db)].includes(true)
    const now = new Date(ctx.clock.now())
    return [
      isFolding,
      await exitArchived(ctx.db, now),
      await deleteEnded(ctx.db, now),
      await deleteOldCalls(ctx),
    ].includes(true)
  }
}
