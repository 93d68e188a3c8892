/**
 * Adds counters to the tables: the one statement that writes `statistics`, for new events and for rows that become
 * coarser. A period of a dimension has a limited number of values (RESOLUTIONS): those it has already, then the
 * largest; what is beyond counts under the empty value, so that sums stay exact. So tags that a customer makes up for
 * each message cannot fill the disk. Callers hold the lock of `count-events.ts`; there is no other writer.
 */
import { columnsOf } from '#src/stores/column-arrays.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { defineInput, type BinaryColumn } from '#src/stores/binary-columns.ts'
import { sql } from '#src/stores/sql.ts'
import { COUNTER_NAMES, NO_VALUE, RESOLUTIONS } from './dimensions.ts'
import type { LinkRow, StatisticsRow } from './tally.ts'

/** By the code of the resolution. */
const MAX_VALUES = `(ARRAY[${Object.values(RESOLUTIONS)
  .map(({ values }) => values)
  .join(', ')}])`

const KEY = 'workspace_id, dimension, at, resolution, value'

/**
 * CTEs that add the rows of a CTE `input` with the columns of `statistics`; rows of `input` differ in their keys. The
 * last one is `written`.
 */
export const ADD_ROWS = sql`
  matched AS (
    SELECT i.*, i.value = '${NO_VALUE}' OR EXISTS (
        SELECT FROM statistics s
        WHERE s.workspace_id = i.workspace_id AND s.dimension = i.dimension AND s.at = i.at
          AND s.resolution = i.resolution AND s.value = i.value
      ) AS is_known
    FROM input i
  ),
  ranked AS (
    SELECT i.*, CASE
        WHEN NOT is_known THEN (
          SELECT count(*)
          FROM statistics s
          WHERE s.workspace_id = i.workspace_id AND s.dimension = i.dimension AND s.at = i.at
            AND s.resolution = i.resolution AND s.value <> '${NO_VALUE}'
        ) + row_number() OVER (
          PARTITION BY i.workspace_id, i.dimension, i.at, i.resolution, i.is_known
          ORDER BY coalesce(i.sent, 0) DESC, i.value
        )
      END AS rank
    FROM matched i
  ),
  limited AS (
    SELECT workspace_id, dimension, at, resolution,
      CASE WHEN is_known OR rank <= ${MAX_VALUES}[resolution + 1] THEN value ELSE '${NO_VALUE}' END AS value,
      ${COUNTER_NAMES.map((name) => `sum(${name})::integer AS ${name}`).join(', ')}
    FROM ranked
    GROUP BY 1, 2, 3, 4, 5
  ),
  written AS (
    INSERT INTO statistics AS s (${KEY}, ${COUNTER_NAMES.join(', ')})
    SELECT ${KEY}, ${COUNTER_NAMES.join(', ')}
    FROM limited
    ORDER BY ${KEY}
    ON CONFLICT (${KEY})
    DO UPDATE SET ${COUNTER_NAMES.map((name) => `${name} = ${sumOf(name)}`).join(',\n      ')}
    RETURNING 1
  )`

/** Null where both are null: a counter that is null takes no space. */
function sumOf(name: string): string {
  return `CASE WHEN excluded.${name} IS NULL THEN s.${name} ELSE coalesce(s.${name}, 0) + excluded.${name} END`
}

const INPUT: Readonly<Record<string, BinaryColumn<StatisticsRow>>> = {
  workspace_id: ['uuid', (row) => row.workspaceId],
  dimension: ['text', (row) => row.dimension],
  at: ['timestamptz', (row) => row.at],
  resolution: ['smallint', () => RESOLUTIONS.minute.code],
  value: ['text', (row) => row.value],
  ...Object.fromEntries(
    COUNTER_NAMES.map((name): [string, BinaryColumn<StatisticsRow>] => [
      name,
      ['integer', (row) => row.counts[name] ?? null],
    ]),
  ),
}
const ROWS = defineInput(1, INPUT)

const ADD = prepared(
  'statistics-add',
  sql`
    WITH input AS (
      SELECT *
      FROM unnest(${ROWS.arrays}) AS i (${ROWS.names})
    ),
    ${ADD_ROWS}
    SELECT count(*) AS written
    FROM written
  `,
)

/** Adds rows of minutes; they differ in their keys. */
export async function addRows(tx: Queryable, rows: readonly StatisticsRow[]): Promise<void> {
  if (rows.length > 0) await tx.query(ADD, ROWS.parametersOf(rows))
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
