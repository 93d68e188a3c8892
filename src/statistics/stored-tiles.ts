/** SQL that reads the rows of tiles (tiles.ts): items of a UNION ALL with `at`, `value` and the counters. */
import { sql } from '#src/stores/sql.ts'
import { NO_VALUE, RESOLUTIONS, type StoredDimension } from './dimensions.ts'
import type { Tile } from './tiles.ts'

/** The parameters of a statement that is written in parts. */
export interface Parameters {
  /** Adds a value and returns its name in the statement. */
  add(value: unknown): string
  readonly values: readonly unknown[]
}

export function createParameters(): Parameters {
  const values: unknown[] = []
  return { add: (value) => `$${values.push(value)}`, values }
}

export interface StoredRows {
  /** A workspace, or INSTALLATION. */
  readonly scope: string
  readonly dimension: StoredDimension
  readonly tiles: readonly Tile[]
  /** Only these values. */
  readonly names?: readonly string[]
  /** All values are one, the empty one. */
  readonly isTotal?: boolean
}

export function rowsOf(stored: readonly StoredRows[], columns: readonly string[], parameters: Parameters): string {
  return stored.flatMap((rows) => itemsOf(rows, columns, parameters)).join(' UNION ALL ')
}

/** One for each resolution. */
function itemsOf(
  { scope, dimension, tiles, names, isTotal = false }: StoredRows,
  columns: readonly string[],
  parameters: Parameters,
): string[] {
  const add = (value: unknown): string => parameters.add(value)
  const kinds = Map.groupBy(tiles, ({ resolution, isByNoon }) => `${resolution} ${isByNoon}`)
  return [...kinds.values()].map((some) => {
    const [{ resolution, isByNoon } = { resolution: 'day', isByNoon: false } as const] = some
    const [from, to] = [some.map((tile) => new Date(tile.from)), some.map((tile) => new Date(tile.to))]
    const at = isByNoon ? `s.at + interval '12 hours' AS at` : 's.at'
    const value = isTotal ? `'${NO_VALUE}' AS value` : 's.value'
    // OFFSET: without it, the planner may compare each row with each tile
    return sql`
      SELECT ${at}, ${value}, ${columns.map((name) => `s.${name}`).join(', ')}
      FROM unnest(${add(from)}::timestamptz[], ${add(to)}::timestamptz[]) AS t (since, until)
      CROSS JOIN LATERAL (
        SELECT at, value, ${columns.join(', ')}
        FROM statistics
        WHERE workspace_id = ${add(scope)}
          AND dimension = ${add(dimension)}
          AND resolution = ${RESOLUTIONS[resolution].code}
          AND at >= t.since
          AND at < t.until
          ${names === undefined ? '' : `AND value = ANY (${add(names)}::text[])`}
        OFFSET 0
      ) s`
  })
}
