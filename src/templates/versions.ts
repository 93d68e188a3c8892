/**
 * Every save of a template keeps the version before it. A version is never changed, so whoever wrote down its number can say for ever
 * what was sent. `finished` is what is rendered; what the author wrote stands beside it.
 */
import { prepared, type Queryable } from '#src/stores/db.ts'
import { isUuid } from '#src/platform/id.ts'
import { isHtml } from '#src/mail/html-detection.ts'
import { sql } from '#src/stores/sql.ts'
import type { Source } from './source.ts'

export const FORMATS = ['html', 'text', 'mjml'] as const
export type TemplateFormat = (typeof FORMATS)[number]

/** A version, ready to be rendered. */
export interface FinishedTemplate extends Omit<Source, 'key'> {
  readonly id: string
  readonly version: number
  readonly name: string
}

interface FinishedRow {
  readonly id: string
  readonly version: number
  readonly name: string
  readonly subject: string
  readonly format: TemplateFormat | null
  readonly body: string
  readonly text: string | null
}

const FINISHED =
  'version, name, subject, format, coalesce(finished, body) AS body, coalesce(finished_text, text_body) AS text'
const LATEST = prepared('template-latest', `SELECT id, ${FINISHED} FROM templates WHERE id = $1 AND workspace_id = $2`)
const VERSION = prepared(
  'template-version',
  sql`
    SELECT template_id AS id, ${FINISHED}
    FROM template_versions
    WHERE template_id = $1 AND workspace_id = $2 AND version = $3
  `,
)

/** The version asked for, or (null) the latest. Null when this workspace has none; text that is no id finds none either. */
export async function findTemplateVersion(
  db: Queryable,
  workspaceId: string,
  id: string,
  version: number | null,
): Promise<FinishedTemplate | null> {
  if (!isUuid(id)) return null
  const {
    rows: [row],
  } =
    version === null
      ? await db.query<FinishedRow>(LATEST, [id, workspaceId])
      : await db.query<FinishedRow>(VERSION, [id, workspaceId, version])
  return row === undefined ? null : finish(row)
}

function finish({ format, body, text, ...rest }: FinishedRow): FinishedTemplate {
  return formatOf(format, body) === 'text' ? { ...rest, html: null, text: body } : { ...rest, html: body, text }
}

/** Of what was saved before formats were kept, as the sending endpoints tell it. */
export function formatOf(format: TemplateFormat | null, body: string): TemplateFormat {
  return format ?? (isHtml(body) ? 'html' : 'text')
}
