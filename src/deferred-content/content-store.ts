/**
 * Stores content shared by many messages: Handlebars sources that were compiled when a campaign started or an
 * automation version was saved. Rows never change, so readers may cache them.
 */
import { prepared, type Queryable } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'

export interface NewContent {
  /** The template it was compiled from, if any. */
  readonly templateId: string | null
  readonly templateVersion: number | null
  readonly subject: string
  /** At least one of `html` and `text` is set. */
  readonly html: string | null
  readonly text: string | null
}

export interface StoredContent {
  readonly id: string
  readonly workspaceId: string
  readonly workspaceName: string
  readonly subject: string
  readonly html: string | null
  readonly text: string | null
}

/** Stores content in the transaction of the row that references it. Returns its id. */
export async function storeContent(tx: Queryable, workspaceId: string, content: NewContent): Promise<string> {
  const { templateId, templateVersion, subject, html, text } = content
  const id = newId()
  await tx.query(
    sql`
      INSERT INTO mail_contents (id, workspace_id, template_id, template_version, subject, html, body_text)
      VALUES ($1, $2, $3, $4, $5, $6, $7)
    `,
    [id, workspaceId, templateId, templateVersion, subject, html, text],
  )
  return id
}

const FIND = prepared(
  'mail-content-find',
  sql`
    SELECT k.id, k.workspace_id AS "workspaceId", w.name AS "workspaceName", k.subject, k.html, k.body_text AS text
    FROM mail_contents k
    JOIN workspaces w ON w.id = k.workspace_id
    WHERE k.workspace_id = $1 AND k.id = $2
  `,
)

/** Null if the workspace has no content with this id. */
export async function findContent(db: Queryable, workspaceId: string, id: string): Promise<StoredContent | null> {
  const { rows } = await db.query<StoredContent>(FIND, [workspaceId, id])
  return rows[0] ?? null
}
