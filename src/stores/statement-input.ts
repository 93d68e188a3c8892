/**
 * Rows as parameters of a statement: one binary array for each column (binary-columns.ts). Columns are named, and the
 * positions of their parameters ($1, $2, ...) are computed, so a new column is one line. Any number of rows uses the
 * same statement with the same number of parameters, so it is prepared once.
 */
import { binaryColumnsOf, type BinaryColumn } from './binary-columns.ts'

/** A part of a FROM clause. */
interface InputRows {
  /** The parameters with their types: `$1::uuid[], $2::text[]`. */
  readonly arrays: string
  /** The names of the columns in the same order: `id, address`. */
  readonly names: string
  /** Both as an item of a FROM clause. */
  from(alias: string): string
}

export interface StatementInput<T, Name extends string> extends InputRows {
  /** A subset of the columns. */
  only(...names: readonly Name[]): InputRows
  /** The number of the first parameter after these. */
  readonly nextParameter: number
  /** The parameters in the order of the statement. */
  parametersOf(rows: readonly T[]): Buffer[]
}

/** `first`: the number of the first parameter. */
export function defineInput<T, Name extends string>(
  first: number,
  columns: Readonly<Record<Name, BinaryColumn<T>>>,
): StatementInput<T, Name> {
  const names = Object.keys(columns) as Name[]
  const list = Object.values<BinaryColumn<T>>(columns)
  const arrays = new Map(names.map((name, i) => [name, `$${first + i}::${columns[name][0]}[]`]))
  const rowsOf = (chosen: readonly Name[]): InputRows => {
    const parts = { arrays: chosen.map((name) => arrays.get(name)).join(', '), names: chosen.join(', ') }
    return { ...parts, from: (alias) => `unnest(${parts.arrays}) AS ${alias} (${parts.names})` }
  }
  return {
    ...rowsOf(names),
    only: (...chosen) => rowsOf(chosen),
    nextParameter: first + names.length,
    parametersOf: (rows) => binaryColumnsOf(rows, list),
  }
}
