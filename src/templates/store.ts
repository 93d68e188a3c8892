/**
 * Stored templates of a workspace. Saving with an id creates the next version; earlier versions stay. A template is
 * compiled once, when it is saved, outside any transaction; if one of its partials changes meanwhile, the save starts
 * again. The save itself is one transaction, so a crash leaves the previous version intact. Concurrent saves create one
 * version each. Templates of other workspaces are reported as not found.
 */
import { z } from 'zod'
import type { Db, Queryable } from '#src/stores/db.ts'
import { isUuid, newId } from '#src/platform/id.ts'
import { mapPage, readPage, type ListOrder, type Page, type PageRequest } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'
import type { CompiledTemplate } from './compile-template.ts'
import { retryOnConcurrentChange, type ConcurrentChange } from './optimistic-retry.ts'
import { loadPartials, lockPartials, MAX_TEMPLATES_PER_PARTIAL, type PartialVersions } from './partial-store.ts'
import { findPartialNames } from './partials.ts'
import type { Renderer } from './renderer.ts'
import { FORMATS, formatOf, type TemplateFormat } from './versions.ts'

/** A template in its authored form. */
export interface Template {
  readonly id: string
  readonly name: string
  readonly subject: string
  /** The body in its authored form. */
  readonly body: string
  readonly text: string | null
  readonly format: TemplateFormat
  readonly description: string | null
  readonly category: string | null
  readonly sampleData: Readonly<Record<string, unknown>> | null
  /** What the block editor made the body from; null if the body is written as code. */
  readonly document: Readonly<Record<string, unknown>> | null
  readonly partials: PartialVersions
  readonly version: number
  readonly createdAt: Date
  readonly updatedAt: Date
}

// PostgreSQL cannot store NUL in a text column
const singleLine = (max: number): z.ZodString =>
  z
    .string()
    .max(max)
    .regex(/^[^\p{Cc}]*$/u, 'must be one line without control characters')
const nonEmptyLine = (max: number): z.ZodString => singleLine(max).regex(/\S/, 'must not be empty')
const textWithoutNul = (max: number): z.ZodString =>
  z
    .string()
    .max(max)
    .regex(/^[^\0]*$/, 'must not contain NUL')
const MAX_SAMPLE_DATA_CHARS = 100_000
const MAX_DOCUMENT_CHARS = 200_000
const format = z.enum(FORMATS).nullish().meta({ description: 'detected when omitted' })
const sampleDataField = jsonField(MAX_SAMPLE_DATA_CHARS)

function jsonField(max: number) {
  return z
    .record(z.string(), z.unknown())
    .nullish()
    .refine((data) => isStorable(data, max), `must be an object of at most ${max} characters as JSON, without NUL`)
}

function isStorable(data: unknown, max: number): boolean {
  try {
    const text = JSON.stringify(data ?? null)
    return text.length <= max && !text.includes('\\u0000')
  } catch {
    return false // nested too deeply
  }
}

/** Request fields with the content of a template. */
export const authoredFields = {
  subject: nonEmptyLine(998),
  body: textWithoutNul(1_000_000).min(1, 'must not be empty').meta({ description: 'HTML, MJML or text' }),
  text: textWithoutNul(1_000_000)
    .nullish()
    .meta({ description: 'the text part beside HTML; generated from the HTML when omitted' }),
  format,
  sample_data: sampleDataField.meta({ description: 'params for previews; declares their names' }),
}

/** Request body of POST /templates/save. */
export const templateFields = z.object({
  id: z.string().refine(isUuid, 'must be the id of a template').nullish(),
  name: nonEmptyLine(255),
  ...authoredFields,
  description: textWithoutNul(2000).nullish(),
  category: singleLine(255).nullish(),
  document: jsonField(MAX_DOCUMENT_CHARS).meta({
    description: 'the document of the block editor that `body` was made from; another body without it removes it',
  }),
})

export type TemplateFields = z.output<typeof templateFields>

export type SaveTemplateResult =
  | { readonly kind: 'saved'; readonly template: Template; readonly compiled: CompiledTemplate }
  /** `reason` is a text for the author. */
  | { readonly kind: 'invalid'; readonly reason: string }
  /** The workspace has no template with this id. */
  | { readonly kind: 'not-found' }

export interface SaveTemplateDeps {
  readonly db: Db
  readonly renderer: Pick<Renderer, 'compile'>
}

export const CONTENT_COLUMNS = sql`
  name, subject, body, text_body AS text, format, sample_data AS "sampleData", document, partials, version
`
const COLUMNS = `id, ${CONTENT_COLUMNS}, description, category, created_at AS "createdAt", updated_at AS "updatedAt"`
const FIND = `SELECT ${COLUMNS} FROM templates WHERE id = $1 AND workspace_id = $2`

export type TemplateRow = Omit<Template, 'format'> & { readonly format: TemplateFormat | null }

export function toTemplate(row: TemplateRow): Template {
  return { ...row, format: formatOf(row.format, row.body) }
}

/**
 * Creates a template, or the next version of the one with the given id: omitted fields keep their value, null clears.
 */
export function saveTemplate(
  store: SaveTemplateDeps,
  workspaceId: string,
  fields: TemplateFields,
): Promise<SaveTemplateResult> {
  return retryOnConcurrentChange('a template', () => trySave(store, workspaceId, fields))
}

async function trySave(
  { db, renderer }: SaveTemplateDeps,
  workspaceId: string,
  fields: TemplateFields,
): Promise<SaveTemplateResult | ConcurrentChange> {
  const old = fields.id === undefined || fields.id === null ? null : await findTemplate(db, workspaceId, fields.id)
  if (fields.id && old === null) return { kind: 'not-found' }
  const text = fields.text === undefined ? (old?.text ?? null) : fields.text
  const partials = await loadPartials(db, workspaceId, findPartialNames(fields.body, text))
  const authored = { subject: fields.subject, body: fields.body, text, format: fields.format ?? null }
  const compiled = await renderer.compile(workspaceId, authored, partials.bodies)
  if (!compiled.ok) return { kind: 'invalid', reason: compiled.reason }
  if (compiled.format === 'text' && fields.text)
    return { kind: 'invalid', reason: 'a plain-text body cannot have a separate text part' }
  if (partials.atLimit !== null && old?.partials[partials.atLimit] === undefined)
    return {
      kind: 'invalid',
      reason: `the partial ${partials.atLimit} is used by ${MAX_TEMPLATES_PER_PARTIAL} templates, which is the limit`,
    }
  const usedVersions = Object.fromEntries(compiled.partials.map((name) => [name, partials.versions[name] ?? 0]))
  return db.transaction(async (tx) => {
    if (!(await lockPartials(tx, workspaceId, usedVersions))) return { kind: 'concurrent-change' }
    const {
      rows: [locked],
    } = old === null ? { rows: [] } : await tx.query<{ text: string | null }>(LOCK, [old.id, workspaceId])
    if (old !== null && locked === undefined) return { kind: 'not-found' }
    if (old !== null && fields.text === undefined && locked?.text !== old.text) return { kind: 'concurrent-change' }
    const stored = { ...fields, text: compiled.format === 'text' ? null : text }
    const values = [old?.id ?? newId(), workspaceId, ...columnValues(stored, compiled, usedVersions)]
    const {
      rows: [row],
    } =
      old === null
        ? await tx.query<TemplateRow>(withVersionInsert(INSERT), values)
        : await tx.query<TemplateRow>(withVersionInsert(UPDATE), [...values, ...presenceFlags(fields)])
    if (row === undefined) throw new Error('the saved template was not found')
    return { kind: 'saved', template: toTemplate(row), compiled }
  })
}

const LOCK = 'SELECT text_body AS text FROM templates WHERE id = $1 AND workspace_id = $2 FOR UPDATE'

function columnValues(fields: TemplateFields, compiled: CompiledTemplate, partials: PartialVersions): unknown[] {
  const { name, subject, body, text, description, category, sample_data: sampleData, document } = fields
  return [
    name,
    subject,
    body,
    text,
    compiled.format,
    ...compiledColumns(body, text ?? null, compiled),
    JSON.stringify(partials),
    json(sampleData),
    description ?? null,
    category ?? null,
    json(document),
  ]
}

/** Which optional fields the request contains. */
function presenceFlags({ sample_data: sampleData, description, category, document }: TemplateFields): boolean[] {
  return [sampleData, description, category, document].map((value) => value !== undefined)
}

function json(value: unknown): string | null {
  return value === undefined || value === null ? null : JSON.stringify(value)
}

/** Values of the columns `finished` and `finished_text`; null if equal to the authored form. */
export function compiledColumns(
  body: string,
  text: string | null,
  compiled: CompiledTemplate,
): [string | null, string | null] {
  const [first, second] = compiled.format === 'text' ? [compiled.text, null] : [compiled.html, compiled.text]
  return [first === body ? null : first, second === text ? null : second]
}

const INSERT = sql`
  INSERT INTO templates (
    id, workspace_id, name, subject, body, text_body, format, finished, finished_text, partials, sample_data,
    description, category, document
  )
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
  RETURNING *
`

const UPDATE = sql`
  UPDATE templates
  SET name = $3,
    subject = $4,
    body = $5,
    text_body = $6,
    format = $7,
    finished = $8,
    finished_text = $9,
    partials = $10,
    sample_data = CASE WHEN $15 THEN $11::jsonb ELSE sample_data END,
    description = CASE WHEN $16 THEN $12 ELSE description END,
    category = CASE WHEN $17 THEN $13 ELSE category END,
    -- a document does not describe another body
    document = CASE WHEN $18 THEN $14::jsonb WHEN body = $5 THEN document END,
    version = version + 1,
    updated_at = now()
  WHERE id = $1 AND workspace_id = $2
  RETURNING *
`

/** Wraps a statement that saves a template so that it also inserts the version row. */
export const withVersionInsert = (save: string): string => sql`
  WITH saved AS (
    ${save}
  ),
  version_row AS (
    INSERT INTO template_versions (
      template_id, version, workspace_id, name, subject, body, created_at, format, text_body, finished, finished_text,
      sample_data, partials, document
    )
    SELECT id, version, workspace_id, name, subject, body, updated_at, format, text_body, finished, finished_text,
      sample_data, partials, document
    FROM saved
  )
  SELECT ${COLUMNS}
  FROM saved
`

/** Null if the workspace has no template with this id, or if `id` is not a UUID. */
export async function findTemplate(db: Queryable, workspaceId: string, id: string): Promise<Template | null> {
  if (!isUuid(id)) return null
  const {
    rows: [row],
  } = await db.query<TemplateRow>(FIND, [id, workspaceId])
  return row === undefined ? null : toTemplate(row)
}

const DELETE = 'DELETE FROM templates WHERE id = $1 AND workspace_id = $2'

/** False if the workspace has no template with this id. Messages that use it stay unchanged. */
export async function deleteTemplate(db: Queryable, workspaceId: string, id: string): Promise<boolean> {
  if (!isUuid(id)) return false
  const { rowCount } = await db.query(DELETE, [id, workspaceId])
  return rowCount === 1
}

const NEWEST_FIRST: ListOrder = {
  by: [
    { sql: 'created_at', type: 'timestamptz' },
    { sql: 'id', type: 'uuid' },
  ],
  direction: 'DESC',
}

/** Newest first. */
export async function listTemplates(db: Queryable, workspaceId: string, page: PageRequest): Promise<Page<Template>> {
  const listing = {
    columns: COLUMNS,
    from: 'templates',
    where: 'workspace_id = $1',
    order: NEWEST_FIRST,
    values: [workspaceId],
  }
  return mapPage(await readPage<TemplateRow>(db, listing, page), toTemplate)
}
