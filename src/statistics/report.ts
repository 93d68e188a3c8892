/**
 * Reads statistics: the counters of one dimension, by intervals. Each event is once in the rows that a report adds up
 * (tiles.ts). It first finds the largest values, then reads their rows, and those with the sums of all values: what the
 * largest have not is the rest. So a year by day reads a row for each one that it returns, however many values there
 * are. All reads see one snapshot.
 */
import type { Db, Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { type CounterName, type DimensionName, NO_VALUE, totalOf } from './dimensions.ts'
import { type Division, type IntervalName, INTERVALS } from './intervals.ts'
import { addUp, type Counted } from './report-sums.ts'
import { createParameters, rowsOf, type StoredRows } from './stored-tiles.ts'
import { tilesOf, type TilesOptions } from './tiles.ts'

export interface ReportQuery {
  /** A workspace, or INSTALLATION. */
  readonly scope: string
  readonly dimension: DimensionName
  /** Only this value of the dimension; null: each of the largest values, and the rest together. */
  readonly value: string | null
  /** Of `division`. */
  readonly interval: IntervalName
  readonly division: Division
  readonly counters: readonly CounterName[]
  /** Values that are reported by themselves. */
  readonly limit: number
}

/** All counters of the report; those without events are 0. */
export type ReportCounts = Readonly<Partial<Record<CounterName, number>>>

export interface ReportRow {
  /** The start of the interval. */
  readonly at: Date
  /** Null: all values, or all beyond the limit. */
  readonly value: string | null
  readonly counts: ReportCounts
}

export interface ReportTotal {
  readonly value: string | null
  readonly counts: ReportCounts
}

export interface Report {
  /** By time, then the largest first; intervals without events are left out. */
  readonly rows: readonly ReportRow[]
  /** Over the whole time, the largest first; the rest last. */
  readonly totals: readonly ReportTotal[]
  /** Events of before the upgrade are still being counted. */
  readonly isComplete: boolean
}

/** A report has at most this many rows, intervals times values. */
export const MAX_REPORT_ROWS = 8000
/** And this many numbers, rows times counters. */
export const MAX_REPORT_NUMBERS = 60_000

/** Values that a report with these intervals and counters can have. */
export function maxValues(intervals: number, counters: number): number {
  return Math.floor(Math.min(MAX_REPORT_ROWS, MAX_REPORT_NUMBERS / counters) / intervals)
}

/**
 * Groups are hashed: to sort them costs more. Rows come from an index, and hashed groups stay in memory. To compile a
 * statement, or to start processes for it, would cost more than to execute it.
 */
const SETTINGS = ['enable_sort = off', 'jit = off', 'max_parallel_workers_per_gather = 0', `work_mem = '16MB'`]

export async function readReport(db: Pick<Db, 'snapshot' | 'clock'>, query: ReportQuery): Promise<Report> {
  const { counters, dimension, value, division } = query
  return db.snapshot(async (tx) => {
    const { rolledMs, isComplete } = await readProgress(tx)
    const state = { rolledMs, nowMs: db.clock.now() }
    const names = dimension === 'all' ? [] : value === null ? await readLargest(tx, query, state) : [value]
    const { rows, totals } = addUp(await readCounted(tx, query, { ...state, names }), isRestSubtracted(query))
    return {
      rows: rows.map(({ bucket, rank, numbers }) => ({
        at: division.starts[bucket - 1] ?? division.end,
        value: names[rank - 1] ?? null,
        counts: countsOf(counters, numbers),
      })),
      totals: totals.map(({ rank, numbers }) => ({
        value: names[rank - 1] ?? null,
        counts: countsOf(counters, numbers),
      })),
      isComplete,
    }
  }, SETTINGS)
}

type State = Pick<TilesOptions, 'rolledMs' | 'nowMs'>

/** How far minutes are rolled up. */
async function readProgress(tx: Queryable): Promise<{ rolledMs: number; isComplete: boolean }> {
  const { rows } = await tx.query<{ name: string; rolledMs: number }>(
    `SELECT name, extract(epoch FROM rolled_until)::float8 * 1000 AS "rolledMs" FROM statistics_cursors`,
  )
  const rolledMs = rows.find(({ name }) => name === 'new')?.rolledMs ?? 0
  return { rolledMs, isComplete: rows.every(({ name }) => name !== 'stored') }
}

/** Minutes have no sums of all values: all of them are read. */
function isRestSubtracted({ interval, value, dimension }: ReportQuery): boolean {
  return dimension !== 'all' && value === null && INTERVALS[interval].needs !== 'minute'
}

/** The largest values by all counters together. */
async function readLargest(tx: Queryable, query: ReportQuery, state: State): Promise<string[]> {
  const { scope, dimension, counters, limit, interval, division } = query
  const { needs } = INTERVALS[interval]
  const isRecent = needs === 'minute' || needs === 'hour'
  const [from = division.end] = division.starts
  const tiles = tilesOf(
    { starts: [from], end: division.end },
    { ...state, coarsest: 'month', finest: needs === 'minute' ? 'minute' : 'hour', isRecent },
  )
  const parameters = createParameters()
  const { rows } = await tx.query<{ value: string }>(
    sql`
      SELECT value
      FROM (${rowsOf([{ scope, dimension, tiles }], counters, parameters)}) AS s
      WHERE value <> '${NO_VALUE}'
      GROUP BY value
      ORDER BY ${counters.map((name) => `coalesce(sum(${name}), 0)`).join(' + ')} DESC, value
      LIMIT ${parameters.add(limit)}`,
    parameters.values,
  )
  return rows.map(({ value }) => value)
}

async function readCounted(
  tx: Queryable,
  query: ReportQuery,
  { names, ...state }: State & { readonly names: readonly string[] },
): Promise<Counted[]> {
  const { counters, division } = query
  const parameters = createParameters()
  const sources = sourcesOf(query, state, names)
  // one text for all counters: to read each as a column of its own costs more than to count them
  const { rows } = await tx.query<{ bucket: number; rank: number; counts: string }>(
    sql`
      SELECT width_bucket(s.at, ${parameters.add(division.starts)}::timestamptz[]) AS bucket,
        coalesce(r.rank, 0)::int AS rank,
        concat_ws(',', ${counters.map((name) => `coalesce(sum(${name}), 0)`).join(', ')}) AS counts
      FROM (${rowsOf(sources, counters, parameters)}) AS s
      LEFT JOIN unnest(${parameters.add(names)}::text[]) WITH ORDINALITY AS r (value, rank) ON r.value = s.value
      GROUP BY 1, 2`,
    parameters.values,
  )
  return rows.map(({ bucket, rank, counts }) => ({ bucket, rank, numbers: numbersIn(counts) }))
}

function sourcesOf(query: ReportQuery, state: State, names: readonly string[]): StoredRows[] {
  const { scope, dimension, value, interval, division } = query
  const { needs } = INTERVALS[interval]
  const tiles = tilesOf(division, { ...state, coarsest: needs, finest: 'hour', isRecent: needs === 'hour' })
  if (value !== null) return [{ scope, dimension, tiles, names }]
  if (!isRestSubtracted(query)) return [{ scope, dimension, tiles }]
  const isMinute = Object.groupBy(tiles, ({ resolution }) => (resolution === 'minute' ? 'minutes' : 'rolled'))
  const { minutes = [], rolled = [] } = isMinute
  return [
    { scope, dimension, tiles, names },
    { scope, dimension: totalOf(dimension), tiles: rolled, isTotal: true },
    { scope, dimension, tiles: minutes, isTotal: true },
  ]
}

const [ZERO, COMMA] = [48, 44]

/** Whole numbers without a sign, separated by commas. */
function numbersIn(text: string): number[] {
  const numbers: number[] = []
  let number = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === COMMA) {
      numbers.push(number)
      number = 0
    } else number = number * 10 + code - ZERO
  }
  numbers.push(number)
  return numbers
}

function countsOf(counters: readonly CounterName[], numbers: readonly number[]): ReportCounts {
  const counts: Partial<Record<CounterName, number>> = {}
  for (const [i, name] of counters.entries()) counts[name] = numbers[i] ?? 0
  return counts
}
