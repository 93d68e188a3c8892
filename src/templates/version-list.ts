/** The versions of a template as their author wrote them. Another workspace's template has none. */
import type { Queryable } from '#src/db.ts'
import { CONTENT, fromRow, type Template, type TemplateRow } from './store.ts'

/** A version as it was saved. */
export type TemplateVersion = Omit<Template, 'description' | 'category' | 'updatedAt'>

const VERSION = `template_id AS id, ${CONTENT}, created_at AS "createdAt"`

export async function findWrittenVersion(db: Queryable, workspaceId: string, id: string, version: number): Promise<TemplateVersion | null> {
  const { rows: [row] } = await db.query<TemplateRow>(
    `SELECT ${VERSION} FROM template_versions WHERE template_id = $1 AND workspace_id = $2 AND version = $3`, [id, workspaceId, version])
  return row === undefined ? null : fromRow(row)
}

export interface VersionPage {
  readonly versions: TemplateVersion[]
  readonly total: number
}

/** The latest first. */
export async function listVersions(
  db: Queryable,
  workspaceId: string,
  id: string,
  page: { readonly page: number; readonly limit: number },
): Promise<VersionPage> {
  const { rows } = await db.query<TemplateRow>(
    `SELECT ${VERSION} FROM template_versions WHERE template_id = $1 AND workspace_id = $2 ORDER BY version DESC LIMIT $3 OFFSET $4`,
    [id, workspaceId, page.limit, (page.page - 1) * page.limit])
  const { rows: [count] } = await db.query<{ n: number }>(
    'SELECT count(*) AS n FROM template_versions WHERE template_id = $1 AND workspace_id = $2', [id, workspaceId])
  return { versions: rows.map(fromRow), total: count?.n ?? 0 }
}
