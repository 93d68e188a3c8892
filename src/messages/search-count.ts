/** Counts the messages that a search finds, in windows of weeks, for a limited time. */
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import {
  candidatesOf,
  listValues,
  MIN_WINDOWS,
  periodOf,
  TIME_BUDGET_MS,
  type SearchDb,
  type SearchQuery,
} from './search.ts'
import { listWindows, splitByAge, type SearchWindow } from './search-windows.ts'

const MAX_COUNTED = 10_000

/**
 * The number of results, up to 10,000, or those of the newest weeks if counting takes long; null if it would have to
 * read each message.
 */
export async function countMessages(
  db: SearchDb,
  { workspaceId, filter }: Pick<SearchQuery, 'workspaceId' | 'filter'>,
): Promise<{ total: number; isExact: boolean } | null> {
  const others = [filter.sender, filter.subject, filter.status, filter.tier, filter.campaignId]
  const isDomain = filter.recipient !== null && filter.recipient.lastIndexOf('@') < 1
  if (others.some((one) => one !== null) || isDomain || (filter.recipient !== null && filter.tag !== null)) return null
  const until = performance.now() + TIME_BUDGET_MS
  const nowMs = db.clock.now()
  const windows = await listWindows(db, periodOf({ filter, cursor: null }), nowMs)
  let [total, counted] = [0, 0]
  const isEnough = (): boolean => total > MAX_COUNTED || (counted >= MIN_WINDOWS && performance.now() > until)
  const count = async (reader: Queryable, these: readonly SearchWindow[]): Promise<void> => {
    for (const window of these) {
      total += await countWindow(reader, { workspaceId, filter }, window)
      counted++
      if (isEnough()) return
    }
  }
  const { recent, old } = splitByAge(windows, nowMs)
  await count(db, recent)
  if (old.length > 0 && !isEnough()) await db.apart((own) => count(own, old))
  const isComplete = counted === windows.length && total <= MAX_COUNTED
  return {
    total: Math.min(total, MAX_COUNTED),
    isExact: isComplete && filter.after === null && filter.before === null,
  }
}

async function countWindow(
  db: Queryable,
  { workspaceId, filter }: Pick<SearchQuery, 'workspaceId' | 'filter'>,
  window: SearchWindow,
): Promise<number> {
  const { values, given } = listValues(workspaceId)
  const { id, from, where } = candidatesOf(filter, given)
  const {
    rows: [row],
  } = await db.query<{ total: number }>(
    sql`
      SELECT count(*) AS total
      FROM (
        SELECT FROM ${from}
        WHERE ${where}
          AND ${id} >= ${given(window.from)}
          AND ${id} < ${given(window.to)}
        GROUP BY ${id}
        LIMIT ${MAX_COUNTED + 1}
      ) few
    `,
    values,
  )
  return row?.total ?? 0
}
