/**
 * Bounds statements on the weekly partitions to the weeks of the ids they read. PostgreSQL opens, locks and plans each
 * partition that a statement does not exclude, so without a bound every statement costs more with every week that
 * passes. The bounds are constants in the text, not parameters: the one plan that a prepared statement has then
 * contains only these partitions. They are computed from the time in the ids, and change no result.
 *
 * A bound only excludes partitions. It is written as two ranges with OR, which PostgreSQL does not use as the range of
 * an index scan: a plan that is made while a week is nearly empty would otherwise read the whole week for each batch,
 * and would be used until the week is analyzed. A statement that reads a range of ids has a condition of its own, and
 * one that joins a batch uses `expectOneRow`.
 */
import { idAt, timeOf } from '#src/platform/id.ts'
import type { Statement } from './db.ts'
import { type TimeSpan, WEEK_MS, weekOf } from './partition-names.ts'

/** The weeks of a batch of ids. */
export interface Weeks {
  /** SQL condition: the column is an id of these weeks. It is true for every id of the batch. */
  contain(column: string): string
  /** SQL condition: the column is an id that was made after one of the batch, as that of an event of a message. */
  precede(column: string): string
  /** Part of the name of a prepared statement; null if the weeks are too rare to keep a plan for them. */
  readonly key: string | null
}

/**
 * SQL condition that is true for each row of a batch. `column`: one of the batch from 0 to 2147483647, such as its
 * ordinality. PostgreSQL expects 10 rows of `unnest`, but one of a range whose limits it cannot judge, and for one row
 * a lookup in an index is always the cheapest. Otherwise a plan that is made while a week is empty and analyzed, as
 * after VACUUM ANALYZE, reads all of that week first, because it seems to have one row. That plan is used until the
 * week is analyzed again. (A condition on the ids, `= ANY`, prevents it too, at twice the CPU time of the statement.)
 */
export function expectOneRow(column: string): string {
  return `${column} BETWEEN 0 AND 2147483647`
}

/** Plans are kept for weeks around now; hardly a statement needs others, and an id of a client may name any. */
const KEPT_WEEKS_BACK = 8
const KEPT_WEEKS_AHEAD = 4
/** More gaps than this are not worth their conditions. */
const MAX_SPANS = 12
/** Ids of two processes may be in another order than they were made. */
export const MAX_CLOCK_SKEW_MS = 3_600_000
/** The first 48 bits of an id are its time. */
const END_OF_TIME = 2 ** 48

/** The weeks of these ids. They need not be UUIDv7: any uuid is in the week of its first 48 bits. */
export function weeksOf(ids: readonly string[], nowMs: number = Date.now()): Weeks {
  const times = ids.map(timeOf)
  const starts = [...new Set(times.map(weekOf))].toSorted((a, b) => a - b)
  const spans = spansOf(starts)
  const [first, last] = [spans[0], spans.at(-1)]
  if (first === undefined || last === undefined) return { contain: () => 'false', precede: () => 'false', key: 'none' }
  const earliest = times.reduce((a, b) => Math.min(a, b))
  return describeWeeks(spans.length > MAX_SPANS ? [{ from: first.from, to: last.to }] : spans, earliest, nowMs)
}

/** All weeks from the one of this time on. */
export function weeksSince(ms: number, nowMs: number = Date.now()): Weeks {
  const from = weekOf(ms)
  const condition = (column: string): string => sinceCondition(column, from)
  return { contain: condition, precede: condition, key: keyOf([{ from, to: weekOf(nowMs) }], from, nowMs) }
}

function describeWeeks(spans: readonly TimeSpan[], earliestMs: number, nowMs: number): Weeks {
  const since = weekOf(earliestMs - MAX_CLOCK_SKEW_MS)
  return {
    contain: (column) => conditionOf(column, spans),
    precede: (column) => sinceCondition(column, since),
    key: keyOf(spans, since, nowMs),
  }
}

/** Joins neighbouring weeks; `starts` ascend. */
function spansOf(starts: readonly number[]): TimeSpan[] {
  const spans: TimeSpan[] = []
  for (const start of starts) {
    const last = spans.at(-1)
    if (last?.to === start) spans[spans.length - 1] = { from: last.from, to: start + WEEK_MS }
    else spans.push({ from: start, to: start + WEEK_MS })
  }
  return spans
}

function conditionOf(column: string, spans: readonly TimeSpan[]): string {
  const [first, ...more] = spans
  if (first === undefined) return 'false'
  const parts = more.length === 0 ? halvesOf(first) : spans
  const ranges = parts.map(({ from, to }) => {
    const upper = to >= END_OF_TIME ? '' : ` AND ${column} < ${bound(to)}`
    return `(${column} >= ${bound(from)}${upper})`
  })
  return `(${ranges.join(' OR ')})`
}

function sinceCondition(column: string, from: number): string {
  return conditionOf(column, [{ from, to: END_OF_TIME }])
}

/** Where the span is divided does not matter. */
function halvesOf({ from, to }: TimeSpan): readonly TimeSpan[] {
  const middle = Math.min(from + WEEK_MS / 2, to - 1, END_OF_TIME - 1)
  return [
    { from, to: middle },
    { from: middle, to },
  ]
}

function bound(ms: number): string {
  return `'${idAt(Math.max(0, ms))}'`
}

function keyOf(spans: readonly TimeSpan[], since: number, nowMs: number): string | null {
  const [span] = spans
  const week = weekOf(nowMs)
  if (span === undefined || spans.length > 1) return null
  if (span.from < week - KEPT_WEEKS_BACK * WEEK_MS || span.to > week + KEPT_WEEKS_AHEAD * WEEK_MS) return null
  return [since, span.from, span.to].map((time) => Math.floor(time / WEEK_MS)).join('-')
}

export interface WeeklyStatement {
  /** The statement for a batch with these ids. */
  for(ids: readonly string[]): Statement
  /** The statement for these weeks. */
  within(weeks: Weeks): Statement
}

/** Texts of a statement that are kept: those of the weeks around now. */
const MAX_TEXTS = 32

/**
 * A prepared statement with a text for each set of weeks. Weeks around now have a prepared statement each; for others
 * the statement is planned each time. `textFor` must bound every partitioned table that it reads or changes.
 */
export function weekly(
  name: string,
  textFor: (weeks: Weeks) => string,
  options: Pick<Statement, 'isUrgent'> = {},
): WeeklyStatement {
  const kept = new Map<string, Statement>()
  const within = (weeks: Weeks): Statement => {
    if (weeks.key === null) return { ...options, name: '', text: textFor(weeks) }
    const known = kept.get(weeks.key)
    if (known !== undefined) return known
    const statement = { ...options, name: `${name} ${weeks.key}`, text: textFor(weeks) }
    if (kept.size >= MAX_TEXTS) kept.clear()
    kept.set(weeks.key, statement)
    return statement
  }
  return { for: (ids) => within(weeksOf(ids)), within }
}
