/** Workspaces are the tenants. Every other object belongs to one workspace and is only read with its id. */
import type { Queryable } from '#src/stores/db.ts'
import { readPage, type ListOrder, type Page, type PageRequest } from '#src/stores/page.ts'
import { hexOf, idOfHex, isUuid, newId } from '#src/platform/id.ts'

export interface Workspace {
  readonly id: string
  /** Lower-case hex, a part of every API key of the workspace. */
  readonly keyPart: string
  readonly name: string
  readonly plan: string
  readonly replyTo: string | null
  readonly createdAt: Date
}

interface NewWorkspace {
  readonly name: string
  readonly plan: string
}

export type FoundWorkspace =
  | { readonly kind: 'found'; readonly workspace: Workspace }
  | { readonly kind: 'none' }
  /** Several have this name. */
  | { readonly kind: 'ambiguous'; readonly ids: readonly string[] }

const COLUMNS = 'id, key_part AS "keyPart", name, plan, reply_to AS "replyTo", created_at AS "createdAt"'

/** `plan` is a name of config/plans.ts; the caller has validated it. */
export async function createWorkspace(db: Queryable, order: NewWorkspace): Promise<{ id: string; keyPart: string }> {
  const id = newId()
  const keyPart = hexOf(id)
  await db.query('INSERT INTO workspaces (id, key_part, name, plan) VALUES ($1, $2, $3, $4)', [
    id,
    keyPart,
    order.name,
    order.plan,
  ])
  return { id, keyPart }
}

/** Finds a workspace by id, by key part, or by unique name. Text that is an id is never used as a name. */
export async function findWorkspace(db: Queryable, text: string): Promise<FoundWorkspace> {
  const id = isUuid(text) ? text : /^[0-9a-f]{32}$/i.test(text) ? idOfHex(text) : null
  const column = id === null ? 'name' : 'id'
  const { rows } = await db.query<Workspace>(
    `SELECT ${COLUMNS} FROM workspaces WHERE ${column} = $1 ORDER BY created_at, id LIMIT 10`,
    [id ?? text],
  )
  const [workspace, ...others] = rows
  if (workspace === undefined) return { kind: 'none' }
  return others.length === 0 ? { kind: 'found', workspace } : { kind: 'ambiguous', ids: rows.map((row) => row.id) }
}

/** The oldest first; `plan` null: of all plans. */
export function pageOfWorkspaces(
  db: Queryable,
  request: PageRequest & { readonly plan: string | null },
): Promise<Page<Workspace>> {
  const listing = { columns: COLUMNS, from: 'workspaces', where: '$1::text IS NULL OR plan = $1' }
  return readPage<Workspace>(db, { ...listing, order: OLDEST_FIRST, values: [request.plan] }, request)
}

const OLDEST_FIRST: ListOrder = {
  by: [
    { sql: 'created_at', type: 'timestamptz' },
    { sql: 'id', type: 'uuid' },
  ],
  direction: 'ASC',
}

/** Null leaves a field as it is. Null result: there is no such workspace. */
export async function changeWorkspace(
  db: Queryable,
  id: string,
  { name, plan }: { readonly name: string | null; readonly plan: string | null },
): Promise<Workspace | null> {
  const { rows } = await db.query<Workspace>(
    `UPDATE workspaces SET name = coalesce($2, name), plan = coalesce($3, plan) WHERE id = $1 RETURNING ${COLUMNS}`,
    [id, name, plan],
  )
  return rows[0] ?? null
}

/** The oldest `limit` workspaces. */
export async function listWorkspaces(db: Queryable, limit: number): Promise<Workspace[]> {
  const { rows } = await db.query<Workspace>(`SELECT ${COLUMNS} FROM workspaces ORDER BY created_at, id LIMIT $1`, [
    limit,
  ])
  return rows
}
