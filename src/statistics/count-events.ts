/**
 * Counts committed events in the statistics, each exactly once: a slice of events, the counters it adds and the new
 * position of the cursor are one transaction. If the process dies, the next round reads the slice again; if two workers
 * run, one holds the lock and the other leaves. Nothing is counted where mail is accepted or sent. Events of before the
 * migration have a cursor of their own, which goes on with a slice a round until its end, so that new mail does not
 * wait for years of old mail. An event whose workspace was deleted meanwhile is passed.
 */
import type { Context } from '#src/context.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { type EventCursor, findSlice, readSlice, sinceMsOf } from './event-slice.ts'
import { repliesOf, storeReplies } from './receiver-replies.ts'
import { addLinks, addRows } from './stored-rows.ts'
import { tally, tallyClicks, withCoarser } from './tally.ts'

/** Events in one transaction. */
const SLICE = 20_000
/** Without events the cursor advances this often, so that the weeks before it are not read. */
const IDLE_ADVANCE_MS = 3_600_000
const FIRST_ID = '00000000-0000-0000-0000-000000000000'

/** The advisory lock of every writer, until its transaction ends: unlike the lock of a row, it writes nothing. */
const LOCK_KEY = `hashtextextended('mailstead statistics', 0)`
/**
 * Groups are hashed: to sort them by many texts would cost more than to read them. PostgreSQL expects 8 KB for each
 * array of codes, which are far smaller, and would write groups to a file at the default of work_mem.
 */
const SETTINGS = `set_config('enable_sort', 'off', true), set_config('work_mem', '96MB', true)`
const TRY_LOCK = prepared(
  'statistics-try-lock',
  `SELECT pg_try_advisory_xact_lock(${LOCK_KEY}) AS "isLocked", ${SETTINGS}`,
)
const LOCK = prepared(
  'statistics-lock',
  `SELECT true AS "isLocked", ${SETTINGS} FROM pg_advisory_xact_lock(${LOCK_KEY})`,
)

interface CursorRow extends EventCursor {
  readonly nowMs: number
  /** Events of earlier transactions are complete. */
  readonly completeTx: string
  /** It was restored from another cluster and is far ahead of this one (src/events/feed.ts). */
  readonly isForeign: boolean
  /** Rows of earlier minutes are rolled up (roll-up.ts). */
  readonly rolledMs: number
}

const CURSORS = prepared(
  'statistics-cursors',
  sql`
    SELECT name, tx, id, extract(epoch FROM least(since, now()))::float8 * 1000 AS "sinceMs", before_tx AS "beforeTx",
      extract(epoch FROM now())::float8 * 1000 AS "nowMs", pg_snapshot_xmin(pg_current_snapshot()) AS "completeTx",
      tx > pg_snapshot_xmax(pg_current_snapshot())
        OR coalesce(before_tx > pg_snapshot_xmax(pg_current_snapshot()), false) AS "isForeign",
      (SELECT extract(epoch FROM rolled_until)::float8 * 1000 FROM statistics_cursors WHERE name = 'new') AS "rolledMs"
    FROM statistics_cursors
    ORDER BY name
  `,
)

const ADVANCE = prepared(
  'statistics-advance',
  sql`
    UPDATE statistics_cursors
    SET tx = $2, id = $3, since = greatest(since, to_timestamp($4::float8 / 1000))
    WHERE name = $1
  `,
)

const END = prepared('statistics-end', 'DELETE FROM statistics_cursors WHERE name = $1')

/**
 * Runs `work` in a transaction as the only writer of statistics. While another process writes, it returns null, or
 * waits.
 */
export async function asOnlyWriter<T>(
  { db }: Pick<Context, 'db'>,
  work: (tx: Queryable) => Promise<T>,
  { waits = false }: { readonly waits?: boolean } = {},
): Promise<T | null> {
  return db.transaction(async (tx) => {
    const { rows } = await tx.query<{ isLocked: boolean }>(waits ? LOCK : TRY_LOCK)
    return rows[0]?.isLocked === true ? work(tx) : null
  })
}

/** What a round counted. */
export interface Counted {
  readonly isMore: boolean
  /** Events a second since the last one that was counted before. */
  readonly perSecond: number
}

const NOTHING: Counted = { isMore: false, perSecond: 0 }

/** Counts the next events. @throws if PostgreSQL is unavailable. */
export async function countSlice(ctx: Pick<Context, 'db'>, slice = SLICE): Promise<Counted> {
  const counted = await asOnlyWriter(ctx, async (tx) => {
    const { rows } = await tx.query<CursorRow>(CURSORS)
    let [isMore, perSecond] = [false, 0]
    for (const cursor of rows) {
      const events = await countAfter(tx, cursor, slice)
      isMore = events === slice || isMore
      if (cursor.beforeTx === null) perSecond = (events / Math.max(1, cursor.nowMs - cursor.sinceMs)) * 1000
    }
    return { isMore, perSecond }
  })
  return counted ?? NOTHING
}

/** Counts the next events. True if there are more. @throws if PostgreSQL is unavailable. */
export async function countEvents(ctx: Pick<Context, 'db'>, slice = SLICE): Promise<boolean> {
  return (await countSlice(ctx, slice)).isMore
}

const PER_INTERVAL = 100
const MOST_INTERVALS = 3

/**
 * The intervals until the next round at this many events a second: a report of a quiet installation is never late, and
 * a busy one writes each row less often.
 */
export function intervalsAt(perSecond: number): number {
  return Math.min(MOST_INTERVALS, Math.max(1, perSecond / PER_INTERVAL))
}

/** Returns how many events it counted. */
async function countAfter(tx: Queryable, cursor: CursorRow, limit: number): Promise<number> {
  if (cursor.isForeign) {
    await restart(tx, cursor)
    return 0
  }
  const slice = await findSlice(tx, cursor, limit)
  if (slice === null) {
    await finish(tx, cursor)
    return 0
  }
  const { groups, clicks } = await readSlice(tx, cursor, slice)
  await addRows(tx, withCoarser(tally(groups), cursor.rolledMs, cursor.nowMs))
  await storeReplies(tx, repliesOf(groups, cursor.nowMs))
  await addLinks(tx, tallyClicks(clicks))
  await tx.query(ADVANCE, [cursor.name, slice.tx, slice.id, sinceMsOf(slice, cursor.nowMs)])
  return slice.events
}

/** After a restore into another cluster, events have other transactions: those that exist are taken as counted. */
async function restart(tx: Queryable, { name, completeTx, nowMs, beforeTx }: CursorRow): Promise<void> {
  if (beforeTx === null) await tx.query(ADVANCE, [name, completeTx, FIRST_ID, nowMs])
  else await tx.query(END, [name])
}

async function finish(tx: Queryable, { name, completeTx, beforeTx, nowMs, sinceMs }: CursorRow): Promise<void> {
  if (beforeTx !== null) await tx.query(END, [name])
  else if (nowMs - sinceMs > IDLE_ADVANCE_MS) await tx.query(ADVANCE, [name, completeTx, FIRST_ID, nowMs])
}
