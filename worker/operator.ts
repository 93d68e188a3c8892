/**
 * What an operator asked for and nobody is doing: suspensions whose time is over end, dry runs that were read are forgotten, and actions on
 * many mails are carried on, a few seconds at a time. Two workers may do it at once: an action is in one hand at a time, and its moves are
 * guarded.
 */
import type { Context } from '#src/context.ts'
import { continueAction, listUnfinishedActions } from '#src/operator/actions.ts'
import { deleteOldDryRuns } from '#src/operator/dry-runs.ts'
import { resumeExpired } from '#src/queue/suspensions.ts'
import type { LoopSpec } from './loop.ts'

const EVERY_MS = 1000
const BUDGET_MS = 5000

export function operatorLoop(ctx: Context): LoopSpec {
  return {
    name: 'operator',
    everyMs: EVERY_MS,
    round: async () => {
      await resumeExpired(ctx)
      await deleteOldDryRuns(ctx.db)
      const leftOver = await listUnfinishedActions(ctx)
      for (const id of leftOver) await continueAction(ctx, id, BUDGET_MS)
      return leftOver.length > 0
    },
  }
}
