/**
 * Audiences of a workspace: made, found, listed, changed, deleted; always together with the workspace's id, so that tenants stay apart.
 *
 * Counts are exact at any moment: what is folded into the row, plus the notes that are not (migrations/004-contacts.ts).
 * Deleting marks the row and answers at once: nobody sees the audience any more, and its rows are cleared by the worker, slice by slice
 * (purge-contacts.ts). Who adds members holds the audience (FOR KEY SHARE), who deletes it waits for them: no membership is left behind.
 */
import { randomBytes } from 'node:crypto'
import { prepared, type Db, type Queryable } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'

/** 16 bytes cannot be guessed; hex survives every mail program that breaks addresses. */
const TOKEN_BYTES = 16

export interface Audience {
  readonly id: string
  readonly name: string
  readonly description: string | null
  /** Of all members, whatever their status. */
  readonly contactCount: number
  /** In the address of its public form. */
  readonly subscribeToken: string
  readonly isDoubleOptIn: boolean
  readonly createdAt: Date
  readonly updatedAt: Date
}

export interface AudienceOrder {
  readonly name: string
  readonly description: string | null
  readonly isDoubleOptIn: boolean
}

/** What is left out stays as it is. */
export interface AudienceChange {
  readonly name?: string | undefined
  readonly description?: string | null | undefined
  readonly isDoubleOptIn?: boolean | undefined
}

/** Where contacts go. */
export interface Target {
  readonly workspaceId: string
  /** Null: into the workspace alone. */
  readonly audienceId: string | null
  readonly now: Date
}

export const AUDIENCE_SORTS = ['name', 'contactCount', 'createdAt'] as const

export interface AudienceListing {
  readonly page: number
  readonly limit: number
  readonly sort: (typeof AUDIENCE_SORTS)[number]
  readonly direction: 'asc' | 'desc'
}

export interface AudiencePage {
  readonly audiences: readonly Audience[]
  readonly total: number
}

const COLUMNS = sql`
  a.id, a.name, a.description, a.contact_count + n.total AS "contactCount", a.subscribe_token AS "subscribeToken",
  a.is_double_opt_in AS "isDoubleOptIn", a.created_at AS "createdAt", a.updated_at AS "updatedAt"
`
/** Notes of its members that are not folded yet. */
const NOTES = sql`
  CROSS JOIN LATERAL (
    SELECT coalesce(sum(c.total), 0)::bigint AS total
    FROM membership_changes c
    WHERE c.audience_id = a.id
  ) n
`
const OWN = 'a.workspace_id = $1 AND a.deleted_at IS NULL'
const ORDERS: Readonly<Record<AudienceListing['sort'], string>> = {
  name: 'lower(a.name)',
  contactCount: '"contactCount"',
  createdAt: 'a.created_at',
}

export async function createAudience(
  db: Queryable,
  workspaceId: string,
  order: AudienceOrder,
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
    [id, workspaceId, order.name, order.description, subscribeToken, order.isDoubleOptIn, now],
  )
  return { ...order, id, contactCount: 0, subscribeToken, createdAt: now, updatedAt: now }
}

const FIND = prepared('audiences-find', `SELECT ${COLUMNS} FROM audiences a ${NOTES} WHERE ${OWN} AND a.id = $2`)

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
          ${NOTES}
          WHERE ${OWN}
          ORDER BY ${ORDERS[sort]} ${direction}, a.id ${direction}
          LIMIT $2
          OFFSET $3
        `,
      ),
    ]),
  ),
)
const TOTAL = prepared('audiences-total', `SELECT count(*) AS total FROM audiences a WHERE ${OWN}`)

/** Equal names and counts are ordered by age. */
export async function listAudiences(
  db: Queryable,
  workspaceId: string,
  wanted: AudienceListing,
): Promise<AudiencePage> {
  const { page, limit, sort, direction } = wanted
  const statement = LISTS[`${sort} ${direction}`]
  if (statement === undefined) throw new Error(`there is no order ${sort} ${direction}`)
  const [{ rows }, total] = await Promise.all([
    db.query<Audience>(statement, [workspaceId, limit, (page - 1) * limit]),
    db.query<{ total: number }>(TOTAL, [workspaceId]),
  ])
  return { audiences: rows, total: total.rows[0]?.total ?? 0 }
}

/** Null when there is none. */
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
      WHERE ${OWN} AND a.id = $2
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

/** True when it was there. Waits for those who are adding members to it. */
export function deleteAudience(db: Pick<Db, 'transaction'>, workspaceId: string, id: string): Promise<boolean> {
  return db.transaction(async (tx) => {
    const { rows } = await tx.query(`SELECT 1 FROM audiences a WHERE ${OWN} AND a.id = $2 FOR UPDATE`, [
      workspaceId,
      id,
    ])
    if (rows.length === 0) return false
    await tx.query('UPDATE audiences SET deleted_at = now() WHERE id = $1', [id])
    return true
  })
}

const HOLD = prepared(
  'contacts-hold-audience',
  sql`
    SELECT EXISTS (SELECT 1 FROM audiences d WHERE d.workspace_id = $1 AND d.deleted_at IS NOT NULL) AS "hasDeleted"
    FROM audiences a
    WHERE a.id = $2 AND a.workspace_id = $1 AND a.deleted_at IS NULL
    FOR KEY SHARE OF a
  `,
)
const LOOK = prepared(
  'contacts-has-deleted',
  sql`
    SELECT EXISTS (SELECT 1 FROM audiences d WHERE d.workspace_id = $1 AND d.deleted_at IS NOT NULL) AS "hasDeleted"
  `,
)

/** Until the end of the transaction nobody deletes it. Null when there is no such audience. */
export async function holdAudience(
  tx: Queryable,
  { workspaceId, audienceId }: Pick<Target, 'workspaceId' | 'audienceId'>,
): Promise<{ readonly hasDeleted: boolean } | null> {
  const { rows } =
    audienceId === null
      ? await tx.query<{ hasDeleted: boolean }>(LOOK, [workspaceId])
      : await tx.query<{ hasDeleted: boolean }>(HOLD, [workspaceId, audienceId])
  return rows[0] ?? null
}
