/**
 * Rows turned into the column arrays that `unnest` takes: a batch of any size is one statement with a fixed number of parameters.
 * Objects must be passed as JSON text and cast in the statement: a PostgreSQL array of arrays is flattened by unnest.
 */
export function columnsOf<T>(rows: readonly T[], picks: readonly ((row: T) => unknown)[]): unknown[][] {
  return picks.map((pick) => rows.map(pick))
}

/** JSON for a jsonb column, null for nothing. */
export function jsonOrNull(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value)
}
