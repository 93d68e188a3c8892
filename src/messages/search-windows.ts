/**
 * Divides a search into windows of weeks, the newest first, each twice as long as the one before. A search reads only
 * the partitions of the windows that it gets to, so its first page costs the same however long messages are stored.
 */
import { idAt, timeOf } from '#src/platform/id.ts'
import type { Queryable } from '#src/stores/db.ts'
import { WEEK_MS, weekOf } from '#src/stores/partition-names.ts'
import { listWeeks } from '#src/stores/partitions.ts'

/** Ids from `from` to before `to`. */
export interface SearchWindow {
  readonly from: string
  readonly to: string
}

/** The bounds of a whole search, in milliseconds. */
export interface SearchPeriod {
  readonly fromMs: number | null
  readonly toMs: number | null
  /** Only ids before this one. */
  readonly cursor: string | null
}

const FIRST_WEEKS = 4
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/**
 * Windows that begin before this are read on a connection of their own, which is closed (`Db.apart`). A new connection
 * costs 10 to 20 ms of CPU for the catalogue, so most searches should not need one.
 */
const RECENT_WEEKS = 20

/** Divides the windows of a search: the recent ones, and those that follow the first old one. */
export function splitByAge(
  windows: readonly SearchWindow[],
  nowMs: number,
): { recent: readonly SearchWindow[]; old: readonly SearchWindow[] } {
  const bound = idAt(weekOf(nowMs) - RECENT_WEEKS * WEEK_MS)
  const firstOld = windows.findIndex(({ from }) => from < bound)
  return firstOld < 0
    ? { recent: windows, old: [] }
    : { recent: windows.slice(0, firstOld), old: windows.slice(firstOld) }
}

/** The windows of a period, from the newest to the oldest stored message. None if nothing is stored in it. */
export async function listWindows(db: Queryable, period: SearchPeriod, nowMs: number): Promise<SearchWindow[]> {
  const [oldest] = await listWeeks(db, 'messages')
  return oldest === undefined ? [] : windowsOf(period, oldest, nowMs)
}

/** Pure. `oldestMs`: nothing is stored from before. */
export function windowsOf({ fromMs, toMs, cursor }: SearchPeriod, oldestMs: number, nowMs: number): SearchWindow[] {
  const start = Math.max(oldestMs, fromMs ?? 0)
  const ends = [LAST_ID, ...(toMs === null ? [] : [idAt(Math.max(0, toMs))]), ...(cursor === null ? [] : [cursor])]
  let to = ends.toSorted()[0] ?? LAST_ID
  const windows: SearchWindow[] = []
  // without an end the first window has all weeks ahead, in which the clock of a process may be
  let weeks = FIRST_WEEKS
  for (let week = weekOf(Math.min(timeOf(to), nowMs)); to > idAt(start); weeks *= 2) {
    const fromWeek = week - (weeks - 1) * WEEK_MS
    const from = idAt(Math.max(start, fromWeek))
    if (from < to) windows.push({ from, to })
    to = from < to ? from : to
    week = fromWeek - WEEK_MS
  }
  return windows
}
