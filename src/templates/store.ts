/**
 * Stored templates of a workspace. Saving with an id makes the next version of that template; what was rendered before stays as it
 * was sent. A template is only stored when the renderer can compile it. Another workspace's template is as good as none.
 */
import { z } from 'zod'
import { prepared, type Queryable } from '#src/db.ts'
import { isUuid, newId } from '#src/id.ts'
import { isHtml } from '#src/mail/html-signs.ts'
import type { Renderer } from './render.ts'

export interface Template {
  readonly id: string
  readonly name: string
  readonly subject: string
  readonly body: string
  readonly description: string | null
  readonly category: string | null
  readonly version: number
  readonly createdAt: Date
  readonly updatedAt: Date
}

// a NUL cannot be stored as text by PostgreSQL
const line = (max: number): z.ZodString => z.string().max(max).regex(/^[^\p{Cc}]*$/u, 'must be one line without control characters')
const filled = (max: number): z.ZodString => line(max).regex(/\S/, 'must not be empty')

/** What POST /templates/save takes. */
export const templateFields = z.object({
  id: z.string().refine(isUuid, 'must be the id of a template').nullish(),
  name: filled(255),
  subject: filled(998),
  body: z.string().min(1, 'must not be empty').max(1_000_000).refine((text) => !text.includes('\0'), 'must not contain NUL'),
  description: z.string().max(2000).refine((text) => !text.includes('\0'), 'must not contain NUL').nullish(),
  category: line(255).nullish(),
})

export type TemplateFields = z.output<typeof templateFields>

export type SavedTemplate =
  | { readonly kind: 'saved'; readonly template: Template }
  /** `reason` is for the author. */
  | { readonly kind: 'invalid'; readonly reason: string }
  /** There is no template with this id in this workspace. */
  | { readonly kind: 'not-found' }

export interface TemplateStore {
  readonly db: Queryable
  readonly renderer: Pick<Renderer, 'check'>
}

const COLUMNS = 'id, name, subject, body, description, category, version, created_at AS "createdAt", updated_at AS "updatedAt"'

const INSERT = `
INSERT INTO templates (id, workspace_id, name, subject, body, description, category)
VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING *`

// what is left out keeps its value, null clears it
const UPDATE = `
UPDATE templates SET name = $3, subject = $4, body = $5, description = CASE WHEN $8 THEN $6 ELSE description END,
  category = CASE WHEN $9 THEN $7 ELSE category END, version = version + 1, updated_at = now()
WHERE id = $1 AND workspace_id = $2 RETURNING *`

const FIND = prepared('template-find', `SELECT ${COLUMNS} FROM templates WHERE id = $1 AND workspace_id = $2`)

const LIST = `
SELECT ${COLUMNS} FROM templates WHERE workspace_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2 OFFSET $3`

/** The row as it is now also becomes a version, in the same statement: a save that dies leaves the old one. */
const keepVersion = (save: string): string => `
WITH saved AS (${save}), kept AS (
  INSERT INTO template_versions (template_id, version, workspace_id, name, subject, body, created_at)
  SELECT id, version, workspace_id, name, subject, body, updated_at FROM saved)
SELECT ${COLUMNS} FROM saved`

/** Makes a template, or with an id its next version. */
export async function saveTemplate({ db, renderer }: TemplateStore, workspaceId: string, fields: TemplateFields): Promise<SavedTemplate> {
  const checked = await renderer.check(isHtml(fields.body) ? { subject: fields.subject, html: fields.body, text: null } : { subject: fields.subject, html: null, text: fields.body })
  if (!checked.ok) return { kind: 'invalid', reason: checked.reason }
  const { id, name, subject, body, description, category } = fields
  const values = [id ?? newId(), workspaceId, name, subject, body, description ?? null, category ?? null]
  const { rows: [template] } = id === undefined || id === null
    ? await db.query<Template>(keepVersion(INSERT), values)
    : await db.query<Template>(keepVersion(UPDATE), [...values, description !== undefined, category !== undefined])
  return template === undefined ? { kind: 'not-found' } : { kind: 'saved', template }
}

/** Null when this workspace has none with this id; text that is no id finds none either. */
export async function findTemplate(db: Queryable, workspaceId: string, id: string): Promise<Template | null> {
  if (!isUuid(id)) return null
  const { rows: [template] } = await db.query<Template>(FIND, [id, workspaceId])
  return template ?? null
}

const DELETE = 'DELETE FROM templates WHERE id = $1 AND workspace_id = $2'

/** False when this workspace has none with this id. Mail that was rendered from it stays as it is. */
export async function deleteTemplate(db: Queryable, workspaceId: string, id: string): Promise<boolean> {
  if (!isUuid(id)) return false
  const { rowCount } = await db.query(DELETE, [id, workspaceId])
  return rowCount === 1
}

export interface TemplatePage {
  readonly templates: Template[]
  /** Of all pages. */
  readonly total: number
}

/** Newest first. `page` counts from 1. */
export async function listTemplates(db: Queryable, workspaceId: string, page: number, limit: number): Promise<TemplatePage> {
  const { rows: templates } = await db.query<Template>(LIST, [workspaceId, limit, (page - 1) * limit])
  const { rows: [count] } = await db.query<{ n: number }>('SELECT count(*) AS n FROM templates WHERE workspace_id = $1', [workspaceId])
  return { templates, total: count?.n ?? 0 }
}
