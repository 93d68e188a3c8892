/**
 * Reads statistics: the counters of one dimension, by intervals. Each event is in one stored row, whatever its
 * resolution, so a report adds up all rows between its bounds; a row belongs to the interval in which its period
 * begins.
 * A year is some ten thousand to some hundred thousand rows of one index range.
 */
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { type CounterName, type DimensionName, NO_VALUE } from './dimensions.ts'
import type { Division } from './intervals.ts'

export interface ReportQuery {
  /** A workspace, or INSTALLATION. */
  readonly scope: string
  readonly dimension: DimensionName
  /** Only this value of the dimension; null: each of the largest values, and the rest together. */
  readonly value: string | null
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

/** Reads at most this many rows: intervals times values. */
export const MAX_REPORT_ROWS = 30_000

type StoredCounts = Record<string, number | string | null>

export async function readReport(db: Queryable, query: ReportQuery): Promise<Report> {
  const { scope, dimension, value, division, limit } = query
  const { rows } = await db.query<StoredCounts & { bucket: number; value: string; rank: number }>(textOf(query), [
    scope,
    dimension,
    division.starts,
    division.end,
    limit,
    ...(value === null ? [] : [value]),
  ])
  const {
    rows: [state],
  } = await db.query<{ isComplete: boolean }>(
    `SELECT NOT EXISTS (SELECT FROM statistics_cursors WHERE name = 'stored') AS "isComplete"`,
  )
  const found = rows.map((row) => ({
    at: division.starts[row.bucket - 1] ?? division.end,
    value: row.value === NO_VALUE ? null : row.value,
    counts: countsOf(query.counters, row),
  }))
  return { rows: found, totals: totalsOf(found, query.counters), isComplete: state?.isComplete === true }
}

function textOf({ counters, value }: Pick<ReportQuery, 'counters' | 'value'>): string {
  const sums = counters.map((name) => `sum(${name}) AS ${name}`).join(', ')
  const size = counters.map((name) => `coalesce(${name}, 0)`).join(' + ')
  return sql`
    WITH matching AS MATERIALIZED (
      SELECT width_bucket(at, $3::timestamptz[]) AS bucket, value, ${sums}
      FROM statistics
      WHERE workspace_id = $1
        AND dimension = $2
        AND at >= ($3::timestamptz[])[1]
        AND at < $4
        ${value === null ? '' : 'AND value = $6'}
      GROUP BY 1, 2
    ),
    ranked AS (
      SELECT value, row_number() OVER (ORDER BY sum(${size}) DESC, value) AS rank
      FROM matching
      WHERE value <> '${NO_VALUE}'
      GROUP BY value
    )
    SELECT m.bucket, CASE WHEN r.rank <= $5 THEN m.value ELSE '${NO_VALUE}' END AS value, min(r.rank)::int AS rank,
      ${counters.map((name) => `sum(m.${name})::bigint AS ${name}`).join(', ')}
    FROM matching m
    LEFT JOIN ranked r ON r.value = m.value
    GROUP BY 1, 2
    HAVING ${counters.map((name) => `sum(m.${name}) IS NOT NULL`).join(' OR ')}
    ORDER BY 1, 3 NULLS LAST
  `
}

function countsOf(counters: readonly CounterName[], row: StoredCounts): ReportCounts {
  return Object.fromEntries(counters.map((name) => [name, Number(row[name] ?? 0)]))
}

function totalsOf(rows: readonly ReportRow[], counters: readonly CounterName[]): ReportTotal[] {
  const totals = [...Map.groupBy(rows, ({ value }) => value)].map(([value, of]) => ({
    value,
    counts: Object.fromEntries(
      counters.map((name) => [name, of.reduce((sum, { counts }) => sum + (counts[name] ?? 0), 0)]),
    ),
  }))
  const size = ({ value, counts }: ReportTotal): number =>
    value === null ? -1 : Object.values(counts).reduce((sum, count) => sum + count, 0)
  return totals.toSorted((a, b) => size(b) - size(a))
}
