/**
 * Deletes what is stored for longer than its period. One loop drops the partitions that are over for everybody; another
 * deletes the rows of workspaces with shorter periods, in slices for a few seconds at a time; a third makes months of
 * old weeks, and small partitions of expired ones with open mail. A drop may wait for hours for an old transaction, so
 * they do not wait for each other. If a step fails, the next round repeats it; a notice and a metric report what is
 * late. While the clock of this machine or of PostgreSQL may be wrong, nothing is deleted.
 */
import type { Context } from '#src/context.ts'
import { DATA_NAMES, type DataName } from '#src/retention/deleted-data.ts'
import { dropExpiredPartitions } from '#src/retention/partition-drops.ts'
import { rewritePartitions } from '#src/retention/partition-rewrites.ts'
import { defaultPeriods, type RetentionPeriods } from '#src/retention/periods.ts'
import { deleteSlice, forgetGoneWorkspaces, listOverdue, type OverdueWorkspace } from '#src/retention/row-deletion.ts'
import { clockProblem } from '#src/stores/server-clock.ts'
import type { Round } from './loop.ts'

const BUDGET_MS = 5000

export function createPartitionDropRound(ctx: Context): Round {
  return async () => {
    if (isClockRight(ctx)) await dropExpiredPartitions(ctx)
    return false
  }
}

export function createPartitionRewriteRound(ctx: Context): Round {
  return async () => isClockRight(ctx) && (await rewritePartitions(ctx))
}

export function createRetentionRound(ctx: Context): Round {
  const defaults = defaultPeriods(ctx.config)
  return async () => isClockRight(ctx) && (await deleteRows(ctx, defaults, ctx.clock.now()))
}

function isClockRight({ db, config }: Context): boolean {
  return clockProblem(db.clock, config.maxClockSkewSeconds) === null
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
