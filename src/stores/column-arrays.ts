/**
 * Converts rows to column arrays for `unnest`: a batch of any size is one statement with a fixed number of parameters.
 * Pass objects as JSON text and cast them in the statement, because `unnest` flattens an array of arrays.
 */
export function columnsOf<T>(rows: readonly T[], picks: readonly ((row: T) => unknown)[]): unknown[][] {
  return picks.map((pick) => rows.map(pick))
}

/** JSON text for a jsonb column; null for null and undefined. */
export function jsonOrNull(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value)
}
