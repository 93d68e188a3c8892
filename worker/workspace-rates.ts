/**
 * Stops the mail of workspaces whose rates are bad, until the operator lets it go on: it waits, and `explain` says why. Accepting goes on.
 * Two workers find the same: it is stopped once. Dies between stopping and forgetting the counts: the next round stops it again, with the
 * same reason, and forgets them. Off by a setting.
 */
import type { Context } from '#src/context.ts'
import { listSuspensions, RATE_PAUSE_PREFIX, suspend } from '#src/queue/suspensions.ts'
import { deleteCounts, evaluateRates, readCounts, removeOldCounts } from '#src/workspaces/rates.ts'
import type { LoopSpec } from './loop.ts'

const EVERY_MS = 30_000

export function workspaceRateLoop(ctx: Context): LoopSpec {
  return {
    name: 'workspace rates',
    everyMs: Math.max(100, EVERY_MS * Math.min(1, ctx.config.retryScale)),
    round: async () => {
      if (ctx.config.workspacePauses === 'off') return false
      await pauseBad(ctx)
      await removeOldCounts(ctx.db, new Date(ctx.clock.now()))
      return false
    },
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
        'the mail of a workspace was stopped for its rates',
      )
    }
    await deleteCounts(db, counts.workspaceId)
  }
}
