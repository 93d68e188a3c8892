/** The versions of a template as their author wrote them. Another workspace's template has none. */
import type { Queryable } from '#src/stores/db.ts'
import { readPage, type PageWish } from '#src/stores/page.ts'
import { CONTENT, fromRow, type Template, type TemplateRow } from './store.ts'

/** A version as it was saved. */
export type TemplateVersion = Omit<Template, 'description' | 'category' | 'updatedAt'>

const VERSION = `template_id AS id, ${CONTENT}, created_at AS "createdAt"`

export async function findWrittenVersion(
  db: Queryable,
  workspaceId: string,
  id: string,
  version: number,
): Promise<TemplateVersion | null> {
  const {
    rows: [row],
  } = await db.query<TemplateRow>(
    `SELECT ${VERSION} FROM template_versions WHERE template_id = $1 AND workspace_id = $2 AND version = $3`,
    [id, workspaceId, version],
  )
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
  wish: PageWish,
): Promise<VersionPage> {
  const where = 'template_id = $1 AND workspace_id = $2'
  const listing = {
    columns: VERSION,
    from: 'template_versions',
    where,
    order: 'version DESC',
    values: [id, workspaceId],
  }
  const { items, total } = await readPage<TemplateRow>(db, listing, wish)
  return { versions: items.map(fromRow), total }
}
