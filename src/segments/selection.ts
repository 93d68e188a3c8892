/**
 * Contacts that are chosen by audience, status and filter: counted, and read in slices, each a statement of its own, so that reading a
 * million holds no transaction and no memory. A slice begins behind the last contact of the one before (the cursor); who is added meanwhile
 * may or may not be seen, nobody is seen twice or left out who was there all the time.
 */
import { GHOST } from '#src/contacts/orphaned-contacts.ts'
import type { Db, Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { compileSegment } from './compile.ts'
import type { Filter } from './filter.ts'

export interface Selection {
  readonly workspaceId: string
  /** Members of one audience; null: all contacts of the workspace. */
  readonly audienceId: string | null
  readonly filter: Filter | null
  /** Of the audience; without one, nobody is left out. */
  readonly isSubscribedOnly: boolean
}

export interface SliceOrder {
  /** What is read of `c` (contacts) and `m` (the membership, or the latest one), as a list of SELECT. */
  readonly columns: string
  /** Null begins. */
  readonly after: string | null
  readonly limit: number
  readonly nowMs: number
}

/** The cursor behind this row. */
export interface Cursored {
  readonly cursor: string
}

const BY_MEMBER = { key: 'm.contact_id', type: 'uuid', first: '00000000-0000-0000-0000-000000000000' }
const BY_ADDRESS = { key: 'c.email', type: 'text', first: '' }

function orderOf({ audienceId }: Selection): typeof BY_MEMBER {
  return audienceId === null ? BY_ADDRESS : BY_MEMBER
}

const LATEST = sql`
  LEFT JOIN LATERAL (
    SELECT lm.*
    FROM memberships lm
    JOIN audiences la ON la.id = lm.audience_id AND la.deleted_at IS NULL
    WHERE lm.contact_id = c.id
    ORDER BY lm.created_at DESC, lm.audience_id DESC
    LIMIT 1
  ) m ON true
`

interface Parts {
  readonly from: string
  readonly where: string
  readonly values: readonly unknown[]
}

/** $1 is the workspace, $2 the audience where there is one. */
function partsOf(selection: Selection, nowMs: number, needsLatest: boolean): Parts {
  const { workspaceId, audienceId, filter, isSubscribedOnly } = selection
  const own = audienceId === null ? [workspaceId] : [workspaceId, audienceId]
  const condition =
    filter === null ? { sql: 'true', values: [] } : compileSegment(filter, { nowMs, first: own.length + 1 })
  const values = [...own, ...condition.values]
  if (audienceId === null)
    return {
      from: `contacts c ${needsLatest ? LATEST : ''}`,
      where: `c.workspace_id = $1 AND NOT ${GHOST} AND ${condition.sql}`,
      values,
    }
  const status = isSubscribedOnly ? ' AND m.is_subscribed' : ''
  return {
    from: 'memberships m JOIN contacts c ON c.id = m.contact_id',
    where: `m.workspace_id = $1 AND m.audience_id = $2${status} AND ${condition.sql}`,
    values,
  }
}

/** True when it may stand in `after`. */
export function isCursor(selection: Selection, text: string): boolean {
  return orderOf(selection) === BY_ADDRESS ? text.length <= 400 : /^[0-9a-f-]{36}$/.test(text)
}

export async function readSlice<R extends object>(
  db: Queryable,
  selection: Selection,
  order: SliceOrder,
): Promise<(R & Cursored)[]> {
  const { from, where, values } = partsOf(selection, order.nowMs, true)
  const { key, type, first } = orderOf(selection)
  const [after, limit] = [`$${values.length + 1}`, `$${values.length + 2}`]
  const { rows } = await db.query<R & Cursored>(
    sql`
      SELECT ${key} AS cursor, ${order.columns}
      FROM ${from}
      WHERE ${where} AND ${key} > ${after}::${type}
      ORDER BY ${key}
      LIMIT ${limit}
    `,
    [...values, order.after ?? first, order.limit],
  )
  return rows
}

/** How long a count may take. */
const PATIENCE_MS = 20_000
const QUERY_CANCELED = '57014'

/** Null when the filter takes longer than 20 seconds. */
export function countSelection(db: Db, selection: Selection, nowMs: number): Promise<number | null> {
  return bounded(db, async (tx) => {
    const { from, where, values } = partsOf(selection, nowMs, false)
    const { rows } = await tx.query<{ total: number }>(`SELECT count(*) AS total FROM ${from} WHERE ${where}`, [
      ...values,
    ])
    return rows[0]?.total ?? 0
  })
}

/** Runs reads of a filter that somebody made up: null when they take longer than 20 seconds. */
export async function bounded<T>(db: Db, work: (tx: Queryable) => Promise<T>): Promise<T | null> {
  try {
    return await db.snapshot(async (tx) => {
      await tx.query(`SET LOCAL statement_timeout = ${PATIENCE_MS}`)
      return work(tx)
    })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === QUERY_CANCELED) return null
    throw error
  }
}
