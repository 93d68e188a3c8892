/**
 * Audiences of a workspace: create, find, list, update, delete. Every query names the workspace, so no tenant sees
 * another's audiences.
 *
 * Counts are always exact: the counts stored in the row plus the counter deltas that are not yet applied
 * (migrations/004-contacts.ts).
 *
 * Deleting only marks the row and returns at once. The audience is invisible from then on; the worker deletes its
 * members in batches (purge-contacts.ts). A transaction that adds members holds the audience FOR KEY SHARE, and a
 * delete waits for it, so no membership is left behind.
 */
import { randomBytes } from 'node:crypto'
import { prepared, type Db, type Queryable } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import { readPage, type ListOrder, type Page, type PageRequest } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'

/** 16 random bytes cannot be guessed; hex survives mail programs that break URLs. */
const TOKEN_BYTES = 16

export interface Audience {
  readonly id: string
  readonly name: string
  readonly description: string | null
  /** All members, subscribed or not. */
  readonly contactCount: number
  /** Part of the URL of the public subscribe form. */
  readonly subscribeToken: string
  readonly isDoubleOptIn: boolean
  readonly createdAt: Date
  readonly updatedAt: Date
}

export interface NewAudience {
  readonly name: string
  readonly description: string | null
  readonly isDoubleOptIn: boolean
}

/** An omitted field keeps its value. */
export interface AudienceChange {
  readonly name?: string | undefined
  readonly description?: string | null | undefined
  readonly isDoubleOptIn?: boolean | undefined
}

/** The audience that contacts are added to or removed from. */
export interface AudienceTarget {
  readonly workspaceId: string
  /** Null: the workspace only, no audience. */
  readonly audienceId: string | null
  readonly now: Date
}

export const AUDIENCE_SORTS = ['name', 'contactCount', 'createdAt'] as const

export interface AudienceQuery extends PageRequest {
  readonly sort: (typeof AUDIENCE_SORTS)[number]
  readonly direction: 'asc' | 'desc'
}

const COLUMNS = sql`
  a.id, a.name, a.description, a.contact_count + n.total AS "contactCount", a.subscribe_token AS "subscribeToken",
  a.is_double_opt_in AS "isDoubleOptIn", a.created_at AS "createdAt", a.updated_at AS "updatedAt"
`
/** Counter deltas that are not yet applied. */
const PENDING_DELTAS = sql`
  CROSS JOIN LATERAL (
    SELECT coalesce(sum(c.total), 0)::bigint AS total
    FROM membership_changes c
    WHERE c.audience_id = a.id
  ) n
`
const IN_WORKSPACE = 'a.workspace_id = $1 AND a.deleted_at IS NULL'
const SORT_EXPRESSIONS: Readonly<Record<AudienceQuery['sort'], string>> = {
  name: 'lower(a.name)',
  contactCount: '"contactCount"',
  createdAt: 'a.created_at',
}

export async function createAudience(
  db: Queryable,
  workspaceId: string,
  audience: NewAudience,
  now: Date,
): Promise<Audience> {
  const id = newId(now.getTime())
  const subscribeToken = randomBytes(TOKEN_BYTES).toString('hex')
  await db.query(
    sql`
      INSERT INTO audiences (
        id, workspace_id, name, description, subscribe_token, is_double_opt_in, created_at, updated_at
      )
      VALUES ($1, $2, $3, $4, $5, $6, $7, $7)
    `,
    [id, workspaceId, audience.name, audience.description, subscribeToken, audience.isDoubleOptIn, now],
  )
  return { ...audience, id, contactCount: 0, subscribeToken, createdAt: now, updatedAt: now }
}

const FIND = prepared(
  'audiences-find',
  `SELECT ${COLUMNS} FROM audiences a ${PENDING_DELTAS} WHERE ${IN_WORKSPACE} AND a.id = $2`,
)

export async function findAudience(db: Queryable, workspaceId: string, id: string): Promise<Audience | null> {
  const { rows } = await db.query<Audience>(FIND, [workspaceId, id])
  return rows[0] ?? null
}

const LISTS = Object.fromEntries(
  AUDIENCE_SORTS.flatMap((sort) =>
    (['asc', 'desc'] as const).map((direction) => [
      `${sort} ${direction}`,
      prepared(
        `audiences-list-${sort}-${direction}`,
        sql`
          SELECT ${COLUMNS}
          FROM audiences a
          ${PENDING_DELTAS}
          WHERE ${IN_WORKSPACE}
          ORDER BY ${SORT_EXPRESSIONS[sort]} ${direction}, a.id ${direction}
          LIMIT $2
          OFFSET $3
        `,
      ),
    ]),
  ),
)
const TOTAL = prepared('audiences-total', `SELECT count(*) AS total FROM audiences a WHERE ${IN_WORKSPACE}`)

/** Audiences with equal names or counts are ordered by id, that is by age. */
export async function listAudiences(db: Queryable, workspaceId: string, query: AudienceQuery): Promise<Page<Audience>> {
  const { page, limit, sort, direction } = query
  if (query.at !== undefined) return readAfter(db, workspaceId, query)
  const statement = LISTS[`${sort} ${direction}`]
  if (statement === undefined) throw new Error(`audiences cannot be sorted by ${sort} ${direction}`)
  const [{ rows }, total] = await Promise.all([
    db.query<Audience>(statement, [workspaceId, limit, (page - 1) * limit]),
    db.query<{ total: number }>(TOTAL, [workspaceId]),
  ])
  return { items: rows, total: total.rows[0]?.total ?? 0 }
}

/** The keys of `SORT_EXPRESSIONS` as expressions of their own. Names are changed by requests, counts by anyone. */
const SORT_KEYS: Readonly<Record<AudienceQuery['sort'], ListOrder['by'][number]>> = {
  name: { sql: 'lower(a.name)', type: 'text' },
  contactCount: {
    sql: sql`
      (
        a.contact_count + (
          SELECT coalesce(sum(c.total), 0)::bigint
          FROM membership_changes c
          WHERE c.audience_id = a.id
        )
      )
    `,
    type: 'bigint',
  },
  createdAt: { sql: 'a.created_at', type: 'timestamptz' },
}

function readAfter(db: Queryable, workspaceId: string, query: AudienceQuery): Promise<Page<Audience>> {
  const order: ListOrder = {
    by: [SORT_KEYS[query.sort], { sql: 'a.id', type: 'uuid' }],
    direction: query.direction === 'asc' ? 'ASC' : 'DESC',
    isMutable: query.sort !== 'createdAt',
  }
  const listing = { columns: COLUMNS, from: 'audiences a', joins: PENDING_DELTAS, where: IN_WORKSPACE, order }
  return readPage(db, { ...listing, values: [workspaceId], owner: workspaceId }, query)
}

/** Null if the workspace has no such audience. */
export async function updateAudience(
  db: Queryable,
  workspaceId: string,
  id: string,
  change: AudienceChange,
): Promise<Audience | null> {
  const { rowCount } = await db.query(
    sql`
      UPDATE audiences a
      SET name = coalesce($3, name),
        description = CASE WHEN $4 THEN $5 ELSE description END,
        is_double_opt_in = coalesce($6, is_double_opt_in),
        updated_at = now()
      WHERE ${IN_WORKSPACE} AND a.id = $2
    `,
    [
      workspaceId,
      id,
      change.name ?? null,
      change.description !== undefined,
      change.description ?? null,
      change.isDoubleOptIn ?? null,
    ],
  )
  return rowCount === 0 ? null : findAudience(db, workspaceId, id)
}

/** True if it existed. Waits for transactions that are adding members to it. */
export function deleteAudience(db: Pick<Db, 'transaction'>, workspaceId: string, id: string): Promise<boolean> {
  return db.transaction(async (tx) => {
    const { rows } = await tx.query(`SELECT 1 FROM audiences a WHERE ${IN_WORKSPACE} AND a.id = $2 FOR UPDATE`, [
      workspaceId,
      id,
    ])
    if (rows.length === 0) return false
    await tx.query('UPDATE audiences SET deleted_at = now() WHERE id = $1', [id])
    return true
  })
}

const LOCK_AUDIENCE = prepared(
  'contacts-lock-audience',
  sql`
    SELECT EXISTS (SELECT 1 FROM audiences d WHERE d.workspace_id = $1 AND d.deleted_at IS NOT NULL) AS "hasDeleted"
    FROM audiences a
    WHERE a.id = $2 AND a.workspace_id = $1 AND a.deleted_at IS NULL
    FOR KEY SHARE OF a
  `,
)
const HAS_DELETED = prepared(
  'contacts-has-deleted',
  sql`
    SELECT EXISTS (SELECT 1 FROM audiences d WHERE d.workspace_id = $1 AND d.deleted_at IS NOT NULL) AS "hasDeleted"
  `,
)

/** Locks the audience against deletion until the transaction ends. Null if there is no such audience. */
export async function lockAudience(
  tx: Queryable,
  { workspaceId, audienceId }: Pick<AudienceTarget, 'workspaceId' | 'audienceId'>,
): Promise<{ readonly hasDeleted: boolean } | null> {
  const { rows } =
    audienceId === null
      ? await tx.query<{ hasDeleted: boolean }>(HAS_DELETED, [workspaceId])
      : await tx.query<{ hasDeleted: boolean }>(LOCK_AUDIENCE, [workspaceId, audienceId])
  return rows[0] ?? null
}
