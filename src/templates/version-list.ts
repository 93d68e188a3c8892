/** The versions of a template in their authored form. A template of another workspace has no versions. */
import type { Queryable } from '#src/stores/db.ts'
import { mapPage, readPage, type Page, type PageRequest } from '#src/stores/page.ts'
import { CONTENT_COLUMNS, toTemplate, type Template, type TemplateRow } from './store.ts'

/** One saved version. */
export type TemplateVersion = Omit<Template, 'description' | 'category' | 'updatedAt'>

const VERSION = `template_id AS id, ${CONTENT_COLUMNS}, created_at AS "createdAt"`

export async function findAuthoredVersion(
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
  return row === undefined ? null : toTemplate(row)
}

/** The latest first. */
export async function listVersions(
  db: Queryable,
  workspaceId: string,
  id: string,
  page: PageRequest,
): Promise<Page<TemplateVersion>> {
  const where = 'template_id = $1 AND workspace_id = $2'
  const listing = {
    columns: VERSION,
    from: 'template_versions',
    where,
    order: { by: [{ sql: 'version', type: 'integer' }], direction: 'DESC' } as const,
    values: [id, workspaceId],
  }
  return mapPage(await readPage<TemplateRow>(db, listing, page), toTemplate)
}
