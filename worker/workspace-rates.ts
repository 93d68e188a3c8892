/**
 * Pauses the mail of workspaces with bad bounce or complaint rates until the operator resumes it. The mail waits, and
 * `explain` shows the reason; the api still accepts mail. Two workers pause a workspace once. A crash after the
 * suspension and before the counts are deleted: the next round deletes them. A setting disables this loop.
 */
import type { Context } from '#src/context.ts'
import { listSuspensions, RATE_PAUSE_PREFIX, suspend } from '#src/queue/suspensions.ts'
import { deleteCounts, evaluateRates, readCounts, removeOldCounts } from '#src/workspaces/rates.ts'
import type { Round } from './loop.ts'

export function createWorkspaceRateRound(ctx: Context): Round {
  return async () => {
    if (ctx.config.workspacePauses === 'off') return false
    await pauseBad(ctx)
    await removeOldCounts(ctx.db, new Date(ctx.clock.now()))
    return false
  }
}

async function pauseBad(ctx: Context): Promise<void> {
  const { config, db, clock, log } = ctx
  const thresholds = {
    bounces: config.pauseBounceShare,
    complaints: config.pauseComplaintShare,
    minimum: config.pauseMinimum,
  }
  const since = new Date(clock.now() - config.pauseWindowSeconds * 1000)
  const stopped = new Set(
    (await listSuspensions(db)).filter(({ kind }) => kind === 'workspace').map(({ subject }) => subject),
  )
  for (const counts of await readCounts(db, since, thresholds.minimum)) {
    const bad = evaluateRates(counts, thresholds)
    if (bad === null) continue
    if (!stopped.has(counts.workspaceId)) {
      await suspend(ctx, { kind: 'workspace', subject: counts.workspaceId }, `${RATE_PAUSE_PREFIX}${bad.reason}`)
      log.warn(
        { workspace: counts.workspaceId, cause: bad.cause, reason: bad.reason },
        'the mail of a workspace was suspended because of its bounce or complaint rate',
      )
    }
    await deleteCounts(db, counts.workspaceId)
  }
}
