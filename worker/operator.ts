/**
 * Background work for the operator: ends expired suspensions, deletes old dry runs and old reviews of suppressions, and
 * continues unfinished actions, a few seconds at a time. Two workers may do this at the same time: one process holds an
 * action, and its transitions are guarded.
 */
import type { Context } from '#src/context.ts'
import { continueAction, listUnfinishedActions } from '#src/operator/actions.ts'
import { deleteOldDryRuns } from '#src/operator/dry-runs.ts'
import { resumeExpired } from '#src/queue/suspensions.ts'
import { deleteOldReviews } from '#src/suppression/suppression-reviews.ts'
import type { Round } from './loop.ts'

const BUDGET_MS = 5000

export function createOperatorRound(ctx: Context): Round {
  return async () => {
    await resumeExpired(ctx)
    await deleteOldDryRuns(ctx.db)
    await deleteOldReviews(ctx.db)
    const leftOver = await listUnfinishedActions(ctx)
    for (const id of leftOver) await continueAction(ctx, id, BUDGET_MS)
    return leftOver.length > 0
  }
}
