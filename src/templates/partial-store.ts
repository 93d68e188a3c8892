/**
 * Partials of a workspace, by name. A transaction that stores a template first locks its partials (`lockPartials`,
 * ordered by name), so none can change or be deleted before the commit. A partial that a template uses cannot be
 * deleted.
 */
import { z } from 'zod'
import type { Db, Queryable } from '#src/stores/db.ts'
import { readUncounted, type ListOrder, type Page, type PageRequest } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'
import { PARTIAL_NAME, type PartialBodies } from './partials.ts'

export const MAX_PARTIALS = 100
/** Maximum number of templates that use one partial. */
export const MAX_TEMPLATES_PER_PARTIAL = 500
const MAX_BODY = 200_000

export const partialFields = z.object({
  name: z.string().regex(PARTIAL_NAME, 'must be letters, digits, - and _, at most 63'),
  body: z
    .string()
    .max(MAX_BODY)
    .regex(/^[^\0]*$/, 'must not contain NUL'),
})

/** Version numbers by name of the partial. */
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

/** Ordered by name. */
export function listPartials(
  db: Queryable,
  workspaceId: string,
  page: Pick<PageRequest, 'limit' | 'at'>,
): Promise<Page<PartialRow>> {
  const order: ListOrder = { by: [{ sql: 'p.name', type: 'text' }], direction: 'ASC' }
  const listing = { columns: COLUMNS, from: 'template_partials p', where: 'p.workspace_id = $1', order }
  return readUncounted(db, { ...listing, values: [workspaceId] }, page)
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
  readonly bodies: PartialBodies
  readonly versions: PartialVersions
  /** Name of a partial that reached the template limit. */
  readonly atLimit: string | null
}

export async function loadPartials(
  db: Queryable,
  workspaceId: string,
  names: readonly string[],
): Promise<LoadedPartials> {
  if (names.length === 0) return { bodies: {}, versions: {}, atLimit: null }
  const { rows } = await db.query<PartialRow>(
    `SELECT ${COLUMNS} FROM template_partials p WHERE p.workspace_id = $1 AND p.name = ANY ($2::text[])`,
    [workspaceId, names],
  )
  return {
    bodies: Object.fromEntries(rows.map(({ name, body }) => [name, body])),
    versions: Object.fromEntries(rows.map(({ name, version }) => [name, version])),
    atLimit: rows.find(({ uses }) => uses >= MAX_TEMPLATES_PER_PARTIAL)?.name ?? null,
  }
}

/** Locks partials until the end of the transaction. Returns false if a version differs from the one used. */
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

export type DeletePartialResult =
  | { readonly kind: 'deleted' | 'not-found' }
  | { readonly kind: 'used'; readonly template: string }

/**
 * Waits for concurrent saves of templates that use the partial. Older versions of templates do not count: they are
 * already compiled.
 */
export async function deletePartial(db: Db, workspaceId: string, name: string): Promise<DeletePartialResult> {
  return db.transaction(async (tx) => {
    const { rowCount } = await tx.query(
      'SELECT FROM template_partials WHERE workspace_id = $1 AND name = $2 FOR UPDATE',
      [workspaceId, name],
    )
    if (rowCount === 0) return { kind: 'not-found' }
    const [template] = await listTemplatesUsing(tx, workspaceId, name)
    if (template !== undefined) return { kind: 'used', template: template.name }
    await tx.query('DELETE FROM template_partials WHERE workspace_id = $1 AND name = $2', [workspaceId, name])
    return { kind: 'deleted' }
  })
}

export interface TemplateUsingPartial {
  readonly id: string
  readonly name: string
  readonly version: number
}

/** Templates whose latest version has it. */
export async function listTemplatesUsing(
  db: Queryable,
  workspaceId: string,
  name: string,
): Promise<TemplateUsingPartial[]> {
  const { rows } = await db.query<TemplateUsingPartial>(
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
