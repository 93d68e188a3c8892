/**
 * Reads one page of a list: by its number, or after a position (a cursor). The total comes from a second, concurrent
 * statement: while the list changes, it may differ slightly.
 *
 * A page number costs reading all pages before it, and items move between pages while the list changes. A position is
 * the sort key of an item: the next page begins at it in the index of the order, so every page costs the same, and an
 * item that stays in the list is on exactly one page. In an order whose keys can change, the pages come from a snapshot
 * (list-snapshots.ts). The total is counted for the first page only; the position contains it.
 */
import type { Queryable } from './db.ts'
import { readSnapshotPage, takeListSnapshot } from './list-snapshots.ts'

export interface PageRequest {
  /** From 1. */
  readonly page: number
  readonly limit: number
  /** Instead of the number: the page after this position; null for the first. */
  readonly at?: ListPosition | null | undefined
}

/** The place between two items of a list. */
export interface ListPosition {
  /** The sort key of the item before it, as PostgreSQL prints it; or the id of a snapshot. */
  readonly key: readonly string[]
  /** The number of items before it. */
  readonly before: number
  /** The number of items on all pages, when the first was read. */
  readonly total: number
}

export interface Page<T> {
  readonly items: readonly T[]
  /** The number of items on all pages. */
  readonly total: number
  /** Where the next page begins; null after the last one. Absent if the page was read by its number. */
  readonly next?: ListPosition | null
}

/** The order of a list: expressions that are never null and together unique, all in one direction. */
export interface ListOrder {
  readonly by: readonly OrderKey[]
  readonly direction: 'ASC' | 'DESC'
  /** The keys of an item can change, except the last one, which is its uuid. */
  readonly isMutable?: boolean
}

export interface OrderKey {
  /** A column that an index of the list begins with, after those that `where` compares with `=`. */
  readonly sql: string
  readonly type: 'uuid' | 'text' | 'timestamptz' | 'integer' | 'smallint' | 'bigint'
}

/** The parts of the SELECT statement, as SQL. */
export interface PageQuery {
  readonly columns: string
  /** The table, with an alias if there are joins. */
  readonly from: string
  /** Joined only to the rows of the page, and not counted. They drop no row. */
  readonly joins?: string
  readonly where: string
  readonly order: ListOrder
  /** The parameters of `where`. */
  readonly values: readonly unknown[]
  /** Instead of counting the items. 0 for a list that returns no total. */
  readonly total?: number
  /** The workspace that the snapshots of a mutable order belong to; without one, the operator. */
  readonly owner?: string
}

/** Newest first, by the uuid of the item. */
export const newestFirst = (id = 'id'): ListOrder => ({ by: [{ sql: id, type: 'uuid' }], direction: 'DESC' })

export function mapPage<A, B>(page: Page<A>, map: (item: A) => B): Page<B> {
  return { ...page, items: page.items.map(map) }
}

/** A page of a list that has neither page numbers nor a total; the first if there is no position. */
export function readUncounted<T extends object>(
  db: Queryable,
  query: PageQuery,
  { limit, at }: Pick<PageRequest, 'limit' | 'at'>,
): Promise<Page<T>> {
  return readPage(db, { ...query, total: 0 }, { page: 1, limit, at })
}

/** The only page of a list that is read as a whole. */
export function onlyPage<T>(items: readonly T[], { at }: PageRequest): Page<T> {
  return { items, total: items.length, ...(at === undefined ? {} : { next: null }) }
}

export async function readPage<T extends object>(
  db: Queryable,
  query: PageQuery,
  request: PageRequest,
): Promise<Page<T>> {
  const { at, limit } = request
  if (at === undefined) return readNumbered(db, query, request)
  const { isMutable = false } = query.order
  if (isMutable && at !== null) return readSnapshotPage(db, query, { at, limit })
  const [slice, total] = await Promise.all([readAfter<T>(db, query, { at, limit }), at?.total ?? count(db, query)])
  if (!slice.hasMore) return { items: slice.items, total, next: null }
  if (isMutable) return readSnapshotPage(db, query, { at: await takeListSnapshot(db, query), limit })
  return { items: slice.items, total, next: { key: slice.lastKey, before: (at?.before ?? 0) + limit, total } }
}

async function readNumbered<T extends object>(
  db: Queryable,
  query: PageQuery,
  { page, limit }: PageRequest,
): Promise<Page<T>> {
  const { values } = query
  const text = selectSql(query, {
    columns: query.columns,
    where: query.where,
    limits: `LIMIT $${values.length + 1} OFFSET $${values.length + 2}`,
  })
  const [{ rows: items }, total] = await Promise.all([
    db.query<T>(text, [...values, limit, (page - 1) * limit]),
    count(db, query),
  ])
  return { items, total }
}

interface Slice<T> {
  readonly items: readonly T[]
  readonly hasMore: boolean
  /** Of the last item. */
  readonly lastKey: readonly string[]
}

/** One row more than the limit shows whether the list continues. */
async function readAfter<T extends object>(
  db: Queryable,
  query: PageQuery,
  { at, limit }: { readonly at: ListPosition | null; readonly limit: number },
): Promise<Slice<T>> {
  const { order, values } = query
  const key = at?.key ?? []
  const text = selectSql(query, {
    columns: `${query.columns}, ARRAY[${order.by.map((one) => `${one.sql}::text`).join(', ')}] AS "listKey"`,
    where: at === null ? query.where : `(${query.where}) AND ${isAfter(order, values.length + 1)}`,
    limits: `LIMIT $${values.length + key.length + 1}`,
  })
  const { rows } = await db.query<T & { listKey: string[] }>(text, [...values, ...key, limit + 1])
  const page = rows.slice(0, limit)
  return {
    items: page.map(({ listKey: _key, ...item }) => item as unknown as T),
    hasMore: rows.length > limit,
    lastKey: page.at(-1)?.listKey ?? [],
  }
}

/** SQL: the row is behind the position in the parameters from `$first` on. */
function isAfter({ by, direction }: ListOrder, first: number): string {
  const keys = by.map(({ sql }) => sql).join(', ')
  const position = by.map(({ type }, i) => `$${first + i}::${type}`).join(', ')
  return `(${keys}) ${direction === 'ASC' ? '>' : '<'} (${position})`
}

interface Selection {
  readonly columns: string
  readonly where: string
  readonly limits: string
}

function selectSql({ from, joins, order }: PageQuery, { columns, where, limits }: Selection): string {
  const slice = `FROM ${from} WHERE ${where} ORDER BY ${orderBySql(order)} ${limits}`
  return joins === undefined
    ? `SELECT ${columns} ${slice}`
    : `SELECT ${columns} FROM (SELECT * ${slice}) ${from.split(' ').at(-1)} ${joins} ORDER BY ${orderBySql(order)}`
}

function orderBySql({ by, direction }: ListOrder): string {
  return by.map(({ sql }) => `${sql} ${direction}`).join(', ')
}

async function count(db: Queryable, { from, where, values, total }: PageQuery): Promise<number> {
  if (total !== undefined) return total
  const {
    rows: [counted],
  } = await db.query<{ total: number }>(`SELECT count(*) AS total FROM ${from} WHERE ${where}`, values)
  return counted?.total ?? 0
}
