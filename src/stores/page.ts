/**
 * One page of a list, and how many are in all of it: two statements side by side, so in a list that changes the total may be a moment off.
 * For lists that a person looks through; what may be long and read to its end has a cursor.
 */
import type { Queryable } from './db.ts'

export interface PageWish {
  /** From 1. */
  readonly page: number
  readonly limit: number
}

export interface Page<T> {
  readonly items: readonly T[]
  /** Of all pages. */
  readonly total: number
}

/** The parts of a SELECT, as SQL. */
export interface Listing {
  readonly columns: string
  /** A table, with its alias where there are joins. */
  readonly from: string
  /** What the rows of the page bring with them: looked up for these alone, and not counted. */
  readonly joins?: string
  readonly where: string
  readonly order: string
  /** What `where` speaks of. */
  readonly values: readonly unknown[]
}

export async function readPage<T extends object>(
  db: Queryable,
  listing: Listing,
  { page, limit }: PageWish,
): Promise<Page<T>> {
  const { columns, from, joins, where, order, values } = listing
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
