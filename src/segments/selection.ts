/**
 * Contacts selected by audience, status and filter: counted, or read in batches. Each batch is a statement of its own,
 * so reading a million contacts holds no transaction and little memory. A batch starts after the last contact of the
 * one before (the cursor). Contacts that are added meanwhile may be missed; nobody else is returned twice or omitted.
 */
import { IS_ORPHANED } from '#src/contacts/orphaned-contacts.ts'
import { isStatementTimeout, type Db, type Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { compileSegment } from './compile-filter.ts'
import type { Filter } from './filter.ts'

export interface ContactSelection {
  readonly workspaceId: string
  /** Members of this audience; null: all contacts of the workspace. */
  readonly audienceId: string | null
  readonly filter: Filter | null
  /** Applies to the audience; without one, all contacts are included. */
  readonly isSubscribedOnly: boolean
  /** Only contacts whose address begins with this text, in lower case. */
  readonly addressPrefix?: string | null
}

export interface ContactSliceQuery {
  /** SELECT list over `c` (contacts) and `m` (the membership, or the latest one). */
  readonly columns: string
  /** Cursor of the last row read; null starts at the beginning. */
  readonly after: string | null
  readonly limit: number
  readonly nowMs: number
}

/** A row with the cursor that continues after it. */
export interface WithCursor {
  readonly cursor: string
}

const BY_MEMBER = { key: 'm.contact_id', type: 'uuid', first: '00000000-0000-0000-0000-000000000000' }
const BY_ADDRESS = { key: 'c.email', type: 'text', first: '' }

function cursorKeyOf({ audienceId }: ContactSelection): typeof BY_MEMBER {
  return audienceId === null ? BY_ADDRESS : BY_MEMBER
}

const LATEST_MEMBERSHIP = sql`
  LEFT JOIN LATERAL (
    SELECT lm.*
    FROM memberships lm
    JOIN audiences la ON la.id = lm.audience_id AND la.deleted_at IS NULL
    WHERE lm.contact_id = c.id
    ORDER BY lm.created_at DESC, lm.audience_id DESC
    LIMIT 1
  ) m ON true
`

interface QueryParts {
  readonly from: string
  readonly where: string
  readonly values: readonly unknown[]
}

/** $1 is the workspace, $2 the audience if there is one. */
function queryPartsOf(selection: ContactSelection, nowMs: number, needsLatest: boolean): QueryParts {
  const { workspaceId, audienceId, filter, isSubscribedOnly, addressPrefix = null } = selection
  const scope = audienceId === null ? [workspaceId] : [workspaceId, audienceId]
  const condition =
    filter === null ? { sql: 'true', values: [] } : compileSegment(filter, { nowMs, first: scope.length + 1 })
  const values = [...scope, ...condition.values, ...(addressPrefix === null ? [] : [addressPrefix])]
  const found = addressPrefix === null ? condition.sql : `${condition.sql} AND c.email ^@ $${values.length}::text`
  if (audienceId === null)
    return {
      from: `contacts c ${needsLatest ? LATEST_MEMBERSHIP : ''}`,
      where: `c.workspace_id = $1 AND NOT ${IS_ORPHANED} AND ${found}`,
      values,
    }
  const status = isSubscribedOnly ? ' AND m.is_subscribed' : ''
  return {
    from: 'memberships m JOIN contacts c ON c.id = m.contact_id',
    where: `m.workspace_id = $1 AND m.audience_id = $2${status} AND ${found}`,
    values,
  }
}

/** True if the text is valid as `after`. */
export function isCursor(selection: ContactSelection, text: string): boolean {
  return cursorKeyOf(selection) === BY_ADDRESS ? text.length <= 400 : /^[0-9a-f-]{36}$/.test(text)
}

export async function readSlice<R extends object>(
  db: Queryable,
  selection: ContactSelection,
  query: ContactSliceQuery,
): Promise<(R & WithCursor)[]> {
  const { from, where, values } = queryPartsOf(selection, query.nowMs, true)
  const { key, type, first } = cursorKeyOf(selection)
  const [after, limit] = [`$${values.length + 1}`, `$${values.length + 2}`]
  const { rows } = await db.query<R & WithCursor>(
    sql`
      SELECT ${key} AS cursor, ${query.columns}
      FROM ${from}
      WHERE ${where} AND ${key} > ${after}::${type}
      ORDER BY ${key}
      LIMIT ${limit}
    `,
    [...values, query.after ?? first, query.limit],
  )
  return rows
}

const STATEMENT_TIMEOUT_MS = 20_000

/** Null if the count takes longer than 20 seconds. */
export function countSelection(db: Db, selection: ContactSelection, nowMs: number): Promise<number | null> {
  return withStatementTimeout(db, async (tx) => {
    const { from, where, values } = queryPartsOf(selection, nowMs, false)
    const { rows } = await tx.query<{ total: number }>(`SELECT count(*) AS total FROM ${from} WHERE ${where}`, [
      ...values,
    ])
    return rows[0]?.total ?? 0
  })
}

/** Runs reads with a user's filter in one snapshot. Null if a statement takes longer than 20 seconds. */
export async function withStatementTimeout<T>(db: Db, work: (tx: Queryable) => Promise<T>): Promise<T | null> {
  try {
    return await db.bulk.snapshot(async (tx) => {
      await tx.query(`SET LOCAL statement_timeout = ${STATEMENT_TIMEOUT_MS}`)
      return work(tx)
    })
  } catch (error) {
    if (isStatementTimeout(error)) return null
    throw error
  }
}
