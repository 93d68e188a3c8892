/**
 * The weeks that have open recipients. Statements that look for open recipients need only these, while the table has
 * the recipients of years. PostgreSQL stores from when on there are any, and the worker advances that every few
 * minutes: a recipient that is settled never opens again. A value that is too old costs time and changes no result.
 */
import { idAt } from '#src/platform/id.ts'
import type { Db, Queryable } from '#src/stores/db.ts'
import { WEEK_MS } from '#src/stores/partition-names.ts'
import { listWeeks } from '#src/stores/partitions.ts'
import { sql } from '#src/stores/sql.ts'
import { type Weeks, weeksSince } from '#src/stores/weeks.ts'

/** Mail that is accepted now may have an id of last week: clocks differ, and a commit may be late. */
const MIN_AGE_MS = WEEK_MS

/** Bounds ids of messages with open recipients. Read it for each statement: it is one row. */
export async function readOpenWeeks(db: Queryable): Promise<Weeks> {
  return weeksSince(await readSince(db))
}

/** The time before which no mail is still to be sent. */
export async function readSince(db: Queryable): Promise<number> {
  const {
    rows: [row],
  } = await db.query<{ since: number }>('SELECT extract(epoch FROM since)::float8 * 1000 AS since FROM open_mail')
  return row?.since ?? 0
}

const HAS_OPEN = sql`
  SELECT EXISTS (
    SELECT FROM recipients
    WHERE is_open AND message_id >= $1 AND message_id < $2
  ) AS "hasOpen"
`

const STORE = sql`
  UPDATE open_mail
  SET since = greatest(since, least(to_timestamp($1::float8 / 1000), now() - interval '${MIN_AGE_MS} milliseconds'))
`

/** PostgreSQL keeps the catalogue entries of each week that a connection has read: more are read apart. */
const MAX_SHARED_WEEKS = 8

/**
 * Finds the first week with open recipients, from the stored one on, and stores it. Those are few weeks, unless it was
 * never done, as after an upgrade.
 */
export async function refreshOpenWeeks(db: Pick<Db, 'query' | 'apart'>, nowMs: number): Promise<void> {
  const knownMs = await readSince(db)
  const endMs = nowMs - MIN_AGE_MS
  const weeks = (await listWeeks(db, 'recipients')).filter((week) => week < endMs && week + WEEK_MS > knownMs)
  const first =
    weeks.length > MAX_SHARED_WEEKS ? await db.apart((own) => findOpen(own, weeks)) : await findOpen(db, weeks)
  const sinceMs = first ?? endMs
  if (sinceMs > knownMs) await db.query(STORE, [sinceMs])
}

/** The first of the weeks with open recipients; null if none has any. */
async function findOpen(db: Queryable, weeks: readonly number[]): Promise<number | null> {
  for (const week of weeks) {
    const { rows } = await db.query<{ hasOpen: boolean }>(HAS_OPEN, [idAt(week), idAt(week + WEEK_MS)])
    if (rows[0]?.hasOpen === true) return week
  }
  return null
}
