/**
 * Lists in an order whose keys change while the list is read, by cursor. The first page stores the order at that
 * moment, that is, the ids of all items in blocks of 1,000, and every page comes from it. So each item that is in the
 * list then, and still is, is on exactly one page, whatever changes in between; its fields are those of now. Items that
 * have left the list are omitted, so a page may be shorter than the limit.
 *
 * A snapshot is stored by one statement: if the process dies, there is none, and the client repeats its request. It is
 * deleted when it was not read for an hour, or when its owner has too many; then its cursors are refused.
 */
import { newId } from '#src/platform/id.ts'
import type { Queryable } from './db.ts'
import type { ListPosition, Page, PageQuery } from './page.ts'
import { sql } from './sql.ts'

/** The snapshot of a cursor was deleted: the client has to start again. */
export class ExpiredSnapshotError extends Error {}

const BLOCK_SIZE = 1000
/** Ids of all snapshots of an owner: 80 MB. One counts as a block at least. */
const MAX_STORED = 5_000_000

/** Stores the order of a list. Returns the position before its first item. */
export async function takeListSnapshot(db: Queryable, query: PageQuery): Promise<ListPosition> {
  const { from, where, order, values, owner = null } = query
  const id = newId()
  const [idParameter, ownerParameter] = [`$${values.length + 1}::uuid`, `$${values.length + 2}::uuid`]
  const keys = order.by.map((key) => `${key.sql} ${order.direction}`).join(', ')
  const { rows } = await db.query<{ total: number }>(
    sql`
      WITH ordered AS (
        SELECT ${itemIdOf(query)} AS id, row_number() OVER (ORDER BY ${keys}) - 1 AS n
        FROM ${from}
        WHERE ${where}
      ),
      blocks AS (
        INSERT INTO list_snapshot_blocks (snapshot_id, block, ids)
        SELECT ${idParameter}, n / ${BLOCK_SIZE}, array_agg(id ORDER BY n)
        FROM ordered
        GROUP BY 2
        RETURNING cardinality(ids) AS items
      )
      INSERT INTO list_snapshots (id, owner, total)
      SELECT ${idParameter}, ${ownerParameter}, coalesce(sum(items), 0)
      FROM blocks
      RETURNING total
    `,
    [...values, id, owner],
  )
  await db.query(DELETE_EXCESS, [owner, id])
  return { key: [id], before: 0, total: rows[0]?.total ?? 0 }
}

/** The column that identifies an item: the last key of the order. */
function itemIdOf({ order }: PageQuery): string {
  return order.by.at(-1)?.sql ?? ''
}

const DELETE_EXCESS = sql`
  DELETE FROM list_snapshots
  WHERE id IN (
    SELECT id
    FROM list_snapshots
    WHERE id IN (
      SELECT id
      FROM (
        SELECT id, sum(greatest(total, ${BLOCK_SIZE})) OVER (ORDER BY read_at DESC, id DESC) AS stored
        FROM list_snapshots
        WHERE owner IS NOT DISTINCT FROM $1::uuid AND id <> $2
      ) latest_first
      WHERE stored > ${MAX_STORED}
    )
    FOR UPDATE SKIP LOCKED
  )
`

type SnapshotRow<T> = T & { readonly listTotal: number; readonly listPlace: number | null }

/** @throws ExpiredSnapshotError */
export async function readSnapshotPage<T extends object>(
  db: Queryable,
  query: PageQuery,
  { at, limit }: { readonly at: ListPosition; readonly limit: number },
): Promise<Page<T>> {
  const { columns, from, joins = '', where, values } = query
  const parameter = (n: number): string => `$${values.length + n}`
  const [snapshot, first, size] = [parameter(1), parameter(2), parameter(3)]
  // one statement: a snapshot that is deleted meanwhile is read completely or not at all
  const { rows } = await db.query<SnapshotRow<T>>(
    sql`
      WITH touched AS (
        UPDATE list_snapshots
        SET read_at = now()
        WHERE id = ${snapshot}::uuid AND read_at < now() - interval '1 minute'
      )
      SELECT taken.total AS "listTotal", p.*
      FROM list_snapshots taken
      LEFT JOIN LATERAL (
        SELECT stored.block * ${BLOCK_SIZE} + listed.ordinal - 1 AS "listPlace", ${columns}
        FROM list_snapshot_blocks stored
        CROSS JOIN LATERAL unnest(stored.ids) WITH ORDINALITY AS listed (item, ordinal)
        JOIN ${from} ON ${itemIdOf(query)} = listed.item
        ${joins}
        WHERE stored.snapshot_id = taken.id
          AND stored.block BETWEEN ${first}::bigint / ${BLOCK_SIZE}
            AND (${first}::bigint + ${size}::bigint - 1) / ${BLOCK_SIZE}
          AND stored.block * ${BLOCK_SIZE} + listed.ordinal - 1 >= ${first}::bigint
          AND stored.block * ${BLOCK_SIZE} + listed.ordinal - 1 < ${first}::bigint + ${size}::bigint
          AND (${where})
      ) p ON true
      WHERE taken.id = ${snapshot}::uuid
      ORDER BY "listPlace"
    `,
    [...values, at.key[0], at.before, limit],
  )
  const total = rows[0]?.listTotal
  if (total === undefined) throw new ExpiredSnapshotError('the snapshot of a cursor was deleted')
  const before = at.before + limit
  return {
    items: rows
      .filter(({ listPlace }) => listPlace !== null)
      .map(({ listPlace: _place, listTotal: _total, ...item }) => item as unknown as T),
    total,
    next: before < total ? { key: at.key, before, total } : null,
  }
}

/** Deletes the snapshots that were not read for an hour. */
export const DELETE_UNREAD_LIST_SNAPSHOTS = `DELETE FROM list_snapshots WHERE read_at < now() - interval '1 hour'`
