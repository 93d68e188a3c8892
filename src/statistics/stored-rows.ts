/**
 * Adds counters to the tables: the one statement that writes `statistics`, for new events and for the coarser periods
 * that minutes are rolled up to. A period of a dimension has a limited number of values (RESOLUTIONS): those it has
 * already, then the largest; what is beyond counts under the empty value, so that sums stay exact. So tags that a
 * customer makes up for each message cannot fill the disk. Which values are new is only looked up in periods that would
 * exceed their limit. Callers hold the lock of `count-events.ts`; there is no other writer.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { type BinaryColumn, binaryColumnsOf, defineInput } from '#src/stores/binary-columns.ts'
import { sql } from '#src/stores/sql.ts'
import { COUNTER_NAMES, NO_VALUE, PAIR_FACTOR, PAIRS, RESOLUTIONS } from './dimensions.ts'
import type { LinkRow, StatisticsRow } from './tally.ts'

const BY_RESOLUTION = Object.values(RESOLUTIONS)
  .map(({ values }) => values)
  .join(', ')
const NAMES_OF_PAIRS = PAIRS.map((name) => `'${name}'`).join(', ')

/** How many values a period of the row may have. */
function maxValuesOf(row: string): string {
  return sql`
    (ARRAY[${BY_RESOLUTION}])[${row}resolution + 1]
      * CASE WHEN ${row}dimension IN (${NAMES_OF_PAIRS}) THEN ${PAIR_FACTOR} ELSE 1 END`
}

/** The size of what happened to the mail of a row. */
const SIZE = ['sent', 'deferred', 'bounced_hard', 'bounced_soft'].map((name) => `coalesce(${name}, 0)`).join(' + ')

const PERIOD_KEY = ['workspace_id', 'dimension', 'at', 'resolution']
const KEY = [...PERIOD_KEY, 'value'].join(', ')

/**
 * Whether rows have the same key, as a range: only the primary key suits that. By the statistics of a small table, the
 * index by age would seem as good, and it has all rows of a period.
 */
function isSame(stored: string, row: string, key: readonly string[]): string {
  const [a, b] = [stored, row].map((name) => `(${key.map((column) => `${name}.${column}`).join(', ')})`)
  return `${a} >= ${b} AND ${a} <= ${b}`
}

/** Null where both are null: a counter that is null takes no space. */
function sumOf(name: string): string {
  return `CASE WHEN excluded.${name} IS NULL THEN s.${name} ELSE coalesce(s.${name}, 0) + excluded.${name} END`
}

const KEYS: Readonly<Record<string, BinaryColumn<StatisticsRow>>> = {
  workspace_id: ['uuid', (row) => row.workspaceId],
  dimension: ['text', (row) => row.dimension],
  at: ['timestamptz', (row) => row.at],
  resolution: ['smallint', (row) => RESOLUTIONS[row.resolution].code],
}
const ROW_COLUMNS: Readonly<Record<string, BinaryColumn<StatisticsRow>>> = {
  ...KEYS,
  value: ['text', (row) => row.value],
}
const ROWS = defineInput(1, ROW_COLUMNS)
/** Counters are one array without nulls, row after row: to unnest each by itself costs more than to write the rows. */
const COUNTS = `$${Object.keys(KEYS).length + 2}::integer[]`
const INPUT = sql`
  input AS MATERIALIZED (
    SELECT ${KEY},
      ${COUNTER_NAMES.map(
        (name, i) => `nullif((${COUNTS})[(n - 1)::integer * ${COUNTER_NAMES.length} + ${i + 1}], 0) AS ${name}`,
      ).join(',\n      ')}
    FROM unnest(${ROWS.arrays}) WITH ORDINALITY AS i (${ROWS.names}, n)
  )`
const INSERT = sql`
  INSERT INTO statistics AS s (${KEY}, ${COUNTER_NAMES.join(', ')})
  SELECT ${KEY}, ${COUNTER_NAMES.join(', ')}`
const ON_CONFLICT = sql`
  ON CONFLICT (${KEY})
  DO UPDATE SET ${COUNTER_NAMES.map((name) => `${name} = ${sumOf(name)}`).join(',\n    ')}`

/**
 * CTEs that add the rows of a CTE `input` with the columns of `statistics`; rows of `input` differ in their keys. The
 * last one is `written`. Known values are looked up one by one: for an EXISTS, PostgreSQL may hash the whole table. For
 * a NOT IN it hashes the few crowded periods, where a join would compare each row with each.
 */
export const ADD_ROWS = sql`
  periods AS (
    SELECT workspace_id, dimension, at, resolution, count(*) AS found
    FROM input
    GROUP BY 1, 2, 3, 4
  ),
  crowded AS (
    SELECT p.*, stored.count AS stored
    FROM periods p
    CROSS JOIN LATERAL (
      SELECT count(*)
      FROM statistics s
      WHERE ${isSame('s', 'p', PERIOD_KEY)} AND s.value <> '${NO_VALUE}'
    ) stored
    WHERE p.found + stored.count > ${maxValuesOf('p.')}
  ),
  matched AS (
    SELECT i.*, c.stored, i.value = '${NO_VALUE}' OR known.is_known IS NOT NULL AS is_known
    FROM input i
    JOIN crowded c USING (workspace_id, dimension, at, resolution)
    LEFT JOIN LATERAL (
      SELECT true AS is_known
      FROM statistics s
      WHERE ${isSame('s', 'i', [...PERIOD_KEY, 'value'])}
      LIMIT 1
    ) known ON true
  ),
  ranked AS (
    SELECT *, stored + row_number() OVER (
        PARTITION BY workspace_id, dimension, at, resolution, is_known
        ORDER BY ${SIZE} DESC, value
      ) AS rank
    FROM matched
  ),
  limited AS (
    SELECT ${KEY}, ${COUNTER_NAMES.map((name) => `${name}::integer`).join(', ')}
    FROM input i
    WHERE (workspace_id, dimension, at, resolution) NOT IN (
        SELECT workspace_id, dimension, at, resolution
        FROM crowded
      )
    UNION ALL
    SELECT workspace_id, dimension, at, resolution,
      CASE WHEN is_known OR rank <= ${maxValuesOf('')} THEN value ELSE '${NO_VALUE}' END AS name,
      ${COUNTER_NAMES.map((name) => `sum(${name})::integer`).join(', ')}
    FROM ranked
    GROUP BY 1, 2, 3, 4, name
  ),
  written AS (
    ${INSERT}
    FROM limited
    ${ON_CONFLICT}
    RETURNING 1
  )`

/** Rows of periods that have room for all of them. */
const ADD = prepared(
  'statistics-add',
  sql`
    WITH ${INPUT}
    ${INSERT}
    FROM input
    ${ON_CONFLICT}
  `,
)
/** Planned each time: a plan for any number of rows would compare each with each. */
const ADD_LIMITED = prepared(
  '',
  sql`
    WITH ${INPUT},
    ${ADD_ROWS}
    SELECT count(*) AS written
    FROM written
  `,
)

interface Period {
  readonly row: StatisticsRow
  found: number
}

const PERIOD_COLUMNS: Readonly<Record<string, BinaryColumn<Period>>> = {
  ...Object.fromEntries(
    Object.entries(KEYS).map(([name, [type, pick]]): [string, BinaryColumn<Period>] => [
      name,
      [type, ({ row }) => pick(row)],
    ]),
  ),
  found: ['integer', ({ found }) => found],
}
const PERIODS = defineInput(1, PERIOD_COLUMNS)
const FIND_CROWDED = prepared(
  'statistics-crowded',
  sql`
    SELECT
    FROM unnest(${PERIODS.arrays}) AS p (${PERIODS.names})
    WHERE found + (
        SELECT count(*)
        FROM statistics s
        WHERE s.workspace_id = p.workspace_id AND s.dimension = p.dimension AND s.at = p.at
          AND s.resolution = p.resolution
      ) > ${maxValuesOf('')}
    LIMIT 1
  `,
)

/** Adds rows; they differ in their keys. */
export async function addRows(tx: Queryable, rows: readonly StatisticsRow[]): Promise<void> {
  if (rows.length === 0) return
  const { rowCount } = await tx.query(FIND_CROWDED, PERIODS.parametersOf(periodsOf(rows)))
  const counts = rows.flatMap((row) => COUNTER_NAMES.map((name) => row.counts[name] ?? 0))
  const [encoded] = binaryColumnsOf(counts, [['integer', (count) => count]])
  await tx.query(rowCount === 0 ? ADD : ADD_LIMITED, [...ROWS.parametersOf(rows), encoded])
}

function periodsOf(rows: readonly StatisticsRow[]): Period[] {
  const periods = new Map<string, Period>()
  for (const row of rows) {
    const key = `${row.workspaceId} ${row.dimension} ${row.at.getTime()} ${row.resolution}`
    const period = periods.get(key) ?? { row, found: 0 }
    periods.set(key, period)
    period.found++
  }
  return [...periods.values()]
}

/** Links that one content has on one day; clicks on further ones count under the empty name. */
const MAX_LINKS = 200

const ADD_LINKS = prepared(
  'statistics-add-links',
  sql`
    WITH input AS (
      SELECT *
      FROM unnest($1::uuid[], $2::text[], $3::date[], $4::text[], $5::integer[], $6::integer[], $7::integer[]) AS i (
        workspace_id, content, day, url, clicked, clicked_unique, clicked_machine
      )
    ),
    ranked AS (
      SELECT i.*, known.is_known, (
          SELECT count(*)
          FROM link_clicks l
          WHERE l.workspace_id = i.workspace_id AND l.content = i.content AND l.day = i.day
        ) + row_number() OVER (
          PARTITION BY i.workspace_id, i.content, i.day, known.is_known
          ORDER BY i.clicked DESC, i.url
        ) AS rank
      FROM input i
      CROSS JOIN LATERAL (
        SELECT EXISTS (
          SELECT FROM link_clicks l
          WHERE l.workspace_id = i.workspace_id AND l.content = i.content AND l.day = i.day AND l.url = i.url
        ) AS is_known
      ) known
    )
    INSERT INTO link_clicks AS l (workspace_id, content, day, url, clicked, clicked_unique, clicked_machine)
    SELECT workspace_id, content, day, CASE WHEN is_known OR rank <= ${MAX_LINKS} THEN url ELSE '' END AS name,
      sum(clicked), sum(clicked_unique), sum(clicked_machine)
    FROM ranked
    GROUP BY 1, 2, 3, 4
    ORDER BY 1, 2, 3, 4
    ON CONFLICT (workspace_id, content, day, url)
    DO UPDATE SET clicked = l.clicked + excluded.clicked,
      clicked_unique = l.clicked_unique + excluded.clicked_unique,
      clicked_machine = l.clicked_machine + excluded.clicked_machine
  `,
)

export async function addLinks(tx: Queryable, rows: readonly LinkRow[]): Promise<void> {
  if (rows.length === 0) return
  await tx.query(
    ADD_LINKS,
    columnsOf(rows, [
      (row) => row.workspaceId,
      (row) => row.content,
      (row) => row.day,
      (row) => row.url,
      (row) => row.clicked,
      (row) => row.clickedUnique,
      (row) => row.clickedMachine,
    ]),
  )
}
