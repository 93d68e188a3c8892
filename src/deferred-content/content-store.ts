/**
 * What many mails say, stored once: Handlebars sources that were finished when a campaign started or an automation's version was saved.
 * Never changed, so whoever has read one may keep it.
 */
import { prepared, type Queryable } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'

export interface NewContent {
  /** What it was made of, if of a template. */
  readonly templateId: string | null
  readonly templateVersion: number | null
  readonly subject: string
  /** One of the two is there. */
  readonly html: string | null
  readonly text: string | null
}

export interface MailContent {
  readonly id: string
  readonly workspaceId: string
  readonly workspaceName: string
  readonly subject: string
  readonly html: string | null
  readonly text: string | null
}

/** Its id. Inside the transaction of what refers to it. */
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

/** Null when the workspace has none with this id. */
export async function findContent(db: Queryable, workspaceId: string, id: string): Promise<MailContent | null> {
  const { rows } = await db.query<MailContent>(FIND, [workspaceId, id])
  return rows[0] ?? null
}
