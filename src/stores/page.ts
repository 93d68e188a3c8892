/**
 * Reads one page of a list and the total number of items, in two concurrent statements: while the list changes, the
 * total may differ slightly. For lists that people browse; long lists that programs read to the end use a cursor.
 */
import type { Queryable } from './db.ts'

export interface PageRequest {
  /** From 1. */
  readonly page: number
  readonly limit: number
}

export interface Page<T> {
  readonly items: readonly T[]
  /** The number of items on all pages. */
  readonly total: number
}

/** The parts of the SELECT statement, as SQL. */
export interface PageQuery {
  readonly columns: string
  /** The table, with an alias if there are joins. */
  readonly from: string
  /** Joined only to the rows of the page, and not counted. */
  readonly joins?: string
  readonly where: string
  readonly order: string
  /** The parameters of `where`. */
  readonly values: readonly unknown[]
}

export async function readPage<T extends object>(
  db: Queryable,
  query: PageQuery,
  { page, limit }: PageRequest,
): Promise<Page<T>> {
  const { columns, from, joins, where, order, values } = query
  const slice = `FROM ${from} WHERE ${where} ORDER BY ${order} LIMIT $${values.length + 1} OFFSET $${values.length + 2}`
  const text =
    joins === undefined
      ? `SELECT ${columns} ${slice}`
      : `SELECT ${columns} FROM (SELECT * ${slice}) ${from.split(' ').at(-1)} ${joins} ORDER BY ${order}`
  const [
    { rows: items },
    {
      rows: [counted],
    },
  ] = await Promise.all([
    db.query<T>(text, [...values, limit, (page - 1) * limit]),
    db.query<{ total: number }>(`SELECT count(*) AS total FROM ${from} WHERE ${where}`, values),
  ])
  return { items, total: counted?.total ?? 0 }
}
