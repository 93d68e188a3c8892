/**
 * Deletes what is stored for longer than its period: drops the partitions that are over for everybody, then deletes the
 * rows of workspaces with shorter periods, in slices for a few seconds at a time. If a step fails, for example because
 * an old transaction reads the partition, the next round repeats it; a notice and a metric report what is late.
 */
import type { Context } from '#src/context.ts'
import { DATA_NAMES, type DataName } from '#src/retention/deleted-data.ts'
import { dropExpiredPartitions } from '#src/retention/partition-drops.ts'
import { defaultPeriods, readLongestPeriods, type RetentionPeriods } from '#src/retention/periods.ts'
import { deleteSlice, forgetGoneWorkspaces, listOverdue, type OverdueWorkspace } from '#src/retention/row-deletion.ts'
import type { Round } from './loop.ts'

const BUDGET_MS = 5000

export function createRetentionRound(ctx: Context): Round {
  const defaults = defaultPeriods(ctx.config)
  return async () => {
    const nowMs = ctx.clock.now()
    const drops = dropExpiredPartitions(ctx, await readLongestPeriods(ctx.db, defaults), nowMs)
    const [result] = await Promise.allSettled([drops])
    const isMore = await deleteRows(ctx, defaults, nowMs)
    if (result.status === 'rejected') throw result.reason
    return isMore
  }
}

/** True if there is more to delete. */
async function deleteRows(ctx: Context, defaults: RetentionPeriods, nowMs: number): Promise<boolean> {
  const until = performance.now() + BUDGET_MS
  for (const data of DATA_NAMES) {
    for (const workspace of await listOverdue(ctx.db, defaults, data, nowMs))
      if (!(await walk(ctx, { data, workspace, until }))) return true
  }
  await forgetGoneWorkspaces(ctx.db)
  return false
}

interface Walk {
  readonly data: DataName
  readonly workspace: OverdueWorkspace
  readonly until: number
}

/** False if the time is over first. */
async function walk(ctx: Context, { data, workspace, until }: Walk): Promise<boolean> {
  while (performance.now() <= until) if ((await deleteSlice(ctx.db.bulk, data, workspace)).isEnd) return true
  return false
}
