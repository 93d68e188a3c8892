/** Workspaces are the tenants. Every other object belongs to one workspace and is only read with its id. */
import type { Queryable } from '#src/stores/db.ts'
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

/** The oldest `limit` workspaces. */
export async function listWorkspaces(db: Queryable, limit: number): Promise<Workspace[]> {
  const { rows } = await db.query<Workspace>(`SELECT ${COLUMNS} FROM workspaces ORDER BY created_at, id LIMIT $1`, [
    limit,
  ])
  return rows
}
