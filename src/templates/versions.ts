/**
 * Compiled versions of templates. Every save keeps the previous version, and a version never changes, so its number
 * always identifies what was sent. The column `finished` holds the compiled form; the authored form is in the columns
 * beside it.
 */
import { type Queryable, urgent } from '#src/stores/db.ts'
import { isUuid } from '#src/platform/id.ts'
import { isHtml } from '#src/mail/html-detection.ts'
import { sql } from '#src/stores/sql.ts'
import type { TemplateSource } from './template-source.ts'

export const FORMATS = ['html', 'text', 'mjml'] as const
export type TemplateFormat = (typeof FORMATS)[number]

/** A compiled version, ready to be rendered. */
export interface CompiledTemplateVersion extends Omit<TemplateSource, 'key'> {
  readonly id: string
  readonly version: number
  readonly name: string
}

interface CompiledRow {
  readonly id: string
  readonly version: number
  readonly name: string
  readonly subject: string
  readonly format: TemplateFormat | null
  readonly body: string
  readonly text: string | null
}

const COMPILED_COLUMNS =
  'version, name, subject, format, coalesce(finished, body) AS body, coalesce(finished_text, text_body) AS text'
const LATEST = urgent(
  'template-latest',
  `SELECT id, ${COMPILED_COLUMNS} FROM templates WHERE id = $1 AND workspace_id = $2`,
)
const VERSION = urgent(
  'template-version',
  sql`
    SELECT template_id AS id, ${COMPILED_COLUMNS}
    FROM template_versions
    WHERE template_id = $1 AND workspace_id = $2 AND version = $3
  `,
)

/**
 * Finds a version, or the latest if `version` is null. Null if the workspace has no such template or `id` is not a
 * UUID.
 */
export async function findTemplateVersion(
  db: Queryable,
  workspaceId: string,
  id: string,
  version: number | null,
): Promise<CompiledTemplateVersion | null> {
  if (!isUuid(id)) return null
  const {
    rows: [row],
  } =
    version === null
      ? await db.query<CompiledRow>(LATEST, [id, workspaceId])
      : await db.query<CompiledRow>(VERSION, [id, workspaceId, version])
  return row === undefined ? null : toCompiledVersion(row)
}

function toCompiledVersion({ format, body, text, ...rest }: CompiledRow): CompiledTemplateVersion {
  return formatOf(format, body) === 'text' ? { ...rest, html: null, text: body } : { ...rest, html: body, text }
}

/** The format of templates saved before the format column existed is detected, as the sending endpoints do. */
export function formatOf(format: TemplateFormat | null, body: string): TemplateFormat {
  return format ?? (isHtml(body) ? 'html' : 'text')
}
