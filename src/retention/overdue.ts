/**
 * How late retention is: for the metric, the notice and `mailstead doctor`. Nothing is late while a partition
 * is not over for everybody, or while mail of it is still to be sent.
 */
import type { Queryable } from '#src/stores/db.ts'
import { DATA_NAMES, DELETED_DATA } from './deleted-data.ts'
import { PERIOD_NAMES, type PeriodName, readLongestPeriods, type RetentionPeriods } from './periods.ts'
import { listOverdue } from './row-deletion.ts'
import { checkPartitions, DROPPED_TABLES, expiredBefore } from './stored-partitions.ts'

/** Deleting a day's or a week's mail takes its time; more than this is a problem. */
export const LATE_MS = 2 * 24 * 3600 * 1000

export interface Overdue {
  readonly period: PeriodName
  /** How long ago the oldest stored rows should have been deleted. */
  readonly lateMs: number
  /** What is late, for people. */
  readonly what: string
}

/** One row for each period, also for those that are on time. */
export async function readOverdue(db: Queryable, defaults: RetentionPeriods, nowMs: number): Promise<Overdue[]> {
  const longest = await readLongestPeriods(db, defaults)
  const partitions = await checkPartitions(db, longest, nowMs)
  const found: Overdue[] = []
  for (const { table, name, to, isExpired } of partitions) {
    const period = DROPPED_TABLES.find((one) => one.table === table)?.period
    if (period === undefined || !isExpired) continue
    found.push({ period, lateMs: expiredBefore(longest[period], nowMs) - to, what: `partition ${name}` })
  }
  for (const data of DATA_NAMES) {
    const [first] = await listOverdue(db, defaults, data, nowMs)
    if (first === undefined) continue
    const { targetMs, doneMs, workspaceId } = first
    found.push({
      period: DELETED_DATA[data].period,
      lateMs: targetMs - doneMs,
      what: `${data} of workspace ${workspaceId}`,
    })
  }
  return PERIOD_NAMES.map((period) =>
    found
      .filter((one) => one.period === period)
      .reduce((latest, one) => (one.lateMs > latest.lateMs ? one : latest), { period, lateMs: 0, what: '' }),
  )
}
