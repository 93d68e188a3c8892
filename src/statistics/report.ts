/**
 * Reads statistics: the counters of one dimension, by intervals. Each event is once in the rows that a report adds up:
 * days, or hours, as far as minutes are rolled up (roll-up.ts), and minutes from then on. All reads see one snapshot. A
 * row belongs to the interval in which its period begins; a day of UTC, which is all that is stored of old mail, to the
 * one that contains its noon. A year of a busy workspace is some 40,000 rows of one dimension.
 */
import type { Db, Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { type CounterName, type DimensionName, NO_VALUE, type ResolutionName, RESOLUTIONS } from './dimensions.ts'
import { type Division, type IntervalName, INTERVALS, storedSince } from './intervals.ts'

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

/** Groups are hashed: to sort them costs more. Rows come from an index, and hashed groups stay in memory. */
const SETTINGS = ['enable_sort = off', `work_mem = '16MB'`]

export async function readReport(db: Pick<Db, 'snapshot' | 'clock'>, query: ReportQuery): Promise<Report> {
  const sources = sourcesOf(query, db.clock.now())
  return db.snapshot(async (tx) => {
    const largest = query.dimension === 'all' || query.value !== null ? [] : await readLargest(tx, query, sources)
    const rows = await readRows(tx, query, { sources, values: query.value === null ? largest : [query.value] })
    const { rows: unfinished } = await tx.query(`SELECT FROM statistics_cursors WHERE name = 'stored'`)
    return { rows, totals: totalsOf(rows, query.counters), isComplete: unfinished.length === 0 }
  }, SETTINGS)
}

/** Stored rows of one resolution. */
interface Source {
  readonly resolution: ResolutionName
  readonly from: Date
  readonly to: Date
  /** What is rolled up already is read from another source. */
  readonly isUnrolled?: boolean
  /** A row counts at the middle of its period, not at its start. */
  readonly isByMiddle?: boolean
}

const DAY_MS = RESOLUTIONS.day.ms
const isDay = (time: Date): boolean => time.getTime() % DAY_MS === 0

/** Where the events of the report are, each once. */
function sourcesOf({ interval, division: { starts, end } }: ReportQuery, nowMs: number): readonly Source[] {
  const from = starts[0] ?? end
  const { needs } = INTERVALS[interval]
  const minutes: Source = { resolution: 'minute', from, to: end, isUnrolled: needs !== 'minute' }
  if (needs === 'minute') return [minutes]
  if (needs === 'hour' || (isDay(end) && starts.every(isDay))) return [{ resolution: needs, from, to: end }, minutes]
  const hoursFrom = Math.ceil(storedSince('hour', nowMs) / DAY_MS) * DAY_MS
  const hours: Source = { resolution: 'hour', from: new Date(Math.max(from.getTime(), hoursFrom)), to: end }
  if (from.getTime() >= hoursFrom) return [hours, minutes]
  const daysTo = Math.min(end.getTime() - DAY_MS / 2, hoursFrom)
  const days: Source = {
    resolution: 'day',
    from: new Date(from.getTime() - DAY_MS / 2),
    to: new Date(daysTo),
    isByMiddle: true,
  }
  return [days, hours, minutes]
}

const ROLLED_UNTIL = `(SELECT rolled_until FROM statistics_cursors WHERE name = 'new')`

/** The rows of all sources. Adds its values to those of the statement. */
function rowsOf(
  { scope, dimension, value }: ReportQuery,
  { sources, columns, values }: { sources: readonly Source[]; columns: readonly string[]; values: unknown[] },
): string {
  const add = (one: unknown): string => `$${values.push(one)}`
  const owner = `workspace_id = ${add(scope)} AND dimension = ${add(dimension)}`
  const ofValue = value === null ? '' : `AND value = ${add(value)}`
  return sources
    .map(
      ({ resolution, from, to, isUnrolled = false, isByMiddle = false }) => sql`
        SELECT ${isByMiddle ? `at + interval '12 hours' AS at` : 'at'}, value, ${columns.join(', ')}
        FROM statistics
        WHERE ${owner}
          AND resolution = ${RESOLUTIONS[resolution].code}
          AND at >= ${add(from)}
          AND at < ${add(to)}
          ${isUnrolled ? `AND at >= ${ROLLED_UNTIL}` : ''}
          ${ofValue}`,
    )
    .join(' UNION ALL ')
}

/** The largest values by all counters together; of a long time by days, as in UTC. */
async function readLargest(tx: Queryable, query: ReportQuery, sources: readonly Source[]): Promise<string[]> {
  const { counters, limit } = query
  const days = sources.filter(({ isByMiddle }) => isByMiddle).map((one) => ({ ...one, to: query.division.end }))
  const ranked = days.length === 0 ? sources : [...days, ...sources.filter(({ isUnrolled }) => isUnrolled)]
  const values: unknown[] = [limit]
  const { rows } = await tx.query<{ value: string }>(
    sql`
      SELECT value
      FROM (${rowsOf(query, { sources: ranked, columns: counters, values })}) AS s
      WHERE value <> '${NO_VALUE}'
      GROUP BY value
      ORDER BY ${counters.map((name) => `coalesce(sum(${name}), 0)`).join(' + ')} DESC, value
      LIMIT $1`,
    values,
  )
  return rows.map(({ value }) => value)
}

type StoredCounts = Record<CounterName, number | null>

interface ReadOptions {
  readonly sources: readonly Source[]
  /** Those that are reported by themselves, the largest first. */
  readonly values: readonly string[]
}

async function readRows(tx: Queryable, query: ReportQuery, { sources, values: names }: ReadOptions) {
  const { counters, division } = query
  const values: unknown[] = [division.starts, names]
  const { rows } = await tx.query<StoredCounts & { bucket: number; rank: number }>(
    sql`
      SELECT width_bucket(s.at, $1::timestamptz[]) AS bucket, coalesce(r.rank, 0)::int AS rank,
        ${counters.map((name) => `sum(${name}) AS ${name}`).join(', ')}
      FROM (${rowsOf(query, { sources, columns: counters, values })}) AS s
      LEFT JOIN unnest($2::text[]) WITH ORDINALITY AS r (value, rank) ON r.value = s.value
      GROUP BY 1, 2
      HAVING coalesce(${counters.map((name) => `sum(${name})`).join(', ')}) IS NOT NULL`,
    values,
  )
  const others = names.length + 1
  rows.sort((a, b) => a.bucket - b.bucket || (a.rank || others) - (b.rank || others))
  return rows.map(({ bucket, rank, ...counts }): ReportRow => {
    for (const name of counters) counts[name] ??= 0
    const at = division.starts[bucket - 1] ?? division.end
    return { at, value: names[rank - 1] ?? null, counts: counts as ReportCounts }
  })
}

function totalsOf(rows: readonly ReportRow[], counters: readonly CounterName[]): ReportTotal[] {
  const totals = new Map<string | null, Partial<Record<CounterName, number>>>()
  for (const { value, counts } of rows) {
    const total = totals.get(value) ?? Object.fromEntries(counters.map((name) => [name, 0]))
    totals.set(value, total)
    for (const name of counters) total[name] = (total[name] ?? 0) + (counts[name] ?? 0)
  }
  const size = (value: string | null, counts: ReportCounts): number =>
    value === null ? -1 : Object.values(counts).reduce((sum, count) => sum + count, 0)
  return [...totals]
    .map(([value, counts]) => ({ value, counts, size: size(value, counts) }))
    .toSorted((a, b) => b.size - a.size)
    .map(({ value, counts }) => ({ value, counts }))
}
