/**
 * Partials of a workspace, by name. Who stores something that has them in it holds them as they are until it is stored (`lockPartials`, in
 * the order of their names), so none changes or goes unseen. One that a template needs is not deleted.
 */
import { z } from 'zod'
import type { Db, Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { PARTIAL_NAME, type Partials } from './partials.ts'

export const MAX_PARTIALS = 100
/** Templates that one partial is put into. */
export const MAX_USERS = 500
const MAX_BODY = 200_000

export const partialFields = z.object({
  name: z.string().regex(PARTIAL_NAME, 'must be letters, digits, - and _, at most 63'),
  body: z
    .string()
    .max(MAX_BODY)
    .regex(/^[^\0]*$/, 'must not contain NUL'),
})

/** By name. */
export type PartialVersions = Readonly<Record<string, number>>

export interface PartialRow {
  readonly name: string
  readonly body: string
  readonly version: number
  readonly createdAt: Date
  readonly updatedAt: Date
  /** Templates whose latest version has it. */
  readonly uses: number
}

const COLUMNS = sql`
  p.name, p.body, p.version, p.created_at AS "createdAt", p.updated_at AS "updatedAt",
  (
    SELECT count(*)::int
    FROM templates t
    WHERE t.workspace_id = p.workspace_id AND t.partials <> '{}' AND jsonb_exists(t.partials, p.name)
  ) AS uses
`

/** In the order of their names. */
export async function listPartials(db: Queryable, workspaceId: string): Promise<PartialRow[]> {
  const { rows } = await db.query<PartialRow>(
    `SELECT ${COLUMNS} FROM template_partials p WHERE p.workspace_id = $1 ORDER BY p.name`,
    [workspaceId],
  )
  return rows
}

export async function findPartial(db: Queryable, workspaceId: string, name: string): Promise<PartialRow | null> {
  const {
    rows: [row],
  } = await db.query<PartialRow>(
    `SELECT ${COLUMNS} FROM template_partials p WHERE p.workspace_id = $1 AND p.name = $2`,
    [workspaceId, name],
  )
  return row ?? null
}

export interface LoadedPartials {
  readonly bodies: Partials
  readonly versions: PartialVersions
  /** One that is in as many templates as it may be. */
  readonly full: string | null
}

export async function loadPartials(
  db: Queryable,
  workspaceId: string,
  names: readonly string[],
): Promise<LoadedPartials> {
  if (names.length === 0) return { bodies: {}, versions: {}, full: null }
  const { rows } = await db.query<PartialRow>(
    `SELECT ${COLUMNS} FROM template_partials p WHERE p.workspace_id = $1 AND p.name = ANY ($2::text[])`,
    [workspaceId, names],
  )
  return {
    bodies: Object.fromEntries(rows.map(({ name, body }) => [name, body])),
    versions: Object.fromEntries(rows.map(({ name, version }) => [name, version])),
    full: rows.find(({ uses }) => uses >= MAX_USERS)?.name ?? null,
  }
}

/** Holds partials as they are until the end of the transaction. False when one of them is not the version that was used. */
export async function lockPartials(
  tx: Queryable,
  workspaceId: string,
  used: PartialVersions,
  mode: 'SHARE' | 'UPDATE' = 'SHARE',
): Promise<boolean> {
  const names = Object.keys(used)
  if (names.length === 0) return true
  const { rows } = await tx.query<{ name: string; version: number }>(
    sql`
      SELECT name, version
      FROM template_partials
      WHERE workspace_id = $1 AND name = ANY ($2::text[])
      ORDER BY name
      FOR ${mode}
    `,
    [workspaceId, names],
  )
  return rows.length === names.length && rows.every(({ name, version }) => used[name] === version)
}

export type DeletedPartial =
  | { readonly kind: 'deleted' | 'not-found' }
  | { readonly kind: 'used'; readonly template: string }

/** A template that is being saved with it is waited for. Versions of templates that are not the latest do not count: they are finished. */
export async function deletePartial(db: Db, workspaceId: string, name: string): Promise<DeletedPartial> {
  return db.transaction(async (tx) => {
    const { rowCount } = await tx.query(
      'SELECT FROM template_partials WHERE workspace_id = $1 AND name = $2 FOR UPDATE',
      [workspaceId, name],
    )
    if (rowCount === 0) return { kind: 'not-found' }
    const [user] = await listUsers(tx, workspaceId, name)
    if (user !== undefined) return { kind: 'used', template: user.name }
    await tx.query('DELETE FROM template_partials WHERE workspace_id = $1 AND name = $2', [workspaceId, name])
    return { kind: 'deleted' }
  })
}

export interface PartialUser {
  readonly id: string
  readonly name: string
  readonly version: number
}

/** Templates whose latest version has it. */
export async function listUsers(db: Queryable, workspaceId: string, name: string): Promise<PartialUser[]> {
  const { rows } = await db.query<PartialUser>(
    sql`
      SELECT id, name, version
      FROM templates
      WHERE workspace_id = $1 AND partials <> '{}' AND jsonb_exists(partials, $2)
      ORDER BY id
    `,
    [workspaceId, name],
  )
  return rows
}
