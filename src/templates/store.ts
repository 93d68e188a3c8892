/**
 * Stored templates of a workspace. Saving with an id makes the next version of that template; the one before is kept. What the author wrote
 * is made ready once, when it is saved, outside of any transaction; if a partial was changed meanwhile, it is done again. A save is one
 * transaction: one that dies leaves what was there. Two who save at once make two versions. Another workspace's
 * template is as good as none.
 */
import { z } from 'zod'
import type { Db, Queryable } from '#src/stores/db.ts'
import { isUuid, newId } from '#src/platform/id.ts'
import { readPage, type PageWish } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'
import type { Finished } from './compile-template.ts'
import { untilStored, type Outrun } from './optimistic-retry.ts'
import { loadPartials, lockPartials, MAX_USERS, type PartialVersions } from './partial-store.ts'
import { guessPartials } from './partials.ts'
import type { Renderer } from './render.ts'
import { FORMATS, formatOf, type TemplateFormat } from './versions.ts'

/** As a template is listed: without what it became. */
export interface Template {
  readonly id: string
  readonly name: string
  readonly subject: string
  /** As it was written. */
  readonly body: string
  readonly text: string | null
  readonly format: TemplateFormat
  readonly description: string | null
  readonly category: string | null
  readonly sampleData: Readonly<Record<string, unknown>> | null
  readonly partials: PartialVersions
  readonly version: number
  readonly createdAt: Date
  readonly updatedAt: Date
}

// a NUL cannot be stored as text by PostgreSQL
const line = (max: number): z.ZodString =>
  z
    .string()
    .max(max)
    .regex(/^[^\p{Cc}]*$/u, 'must be one line without control characters')
const filled = (max: number): z.ZodString => line(max).regex(/\S/, 'must not be empty')
const plain = (max: number): z.ZodString =>
  z
    .string()
    .max(max)
    .regex(/^[^\0]*$/, 'must not contain NUL')
const MAX_SAMPLE = 100_000
const format = z.enum(FORMATS).nullish().meta({ description: 'detected where it is left out' })
const sample = z
  .record(z.string(), z.unknown())
  .nullish()
  .refine((data) => isStorable(data), `must be an object of at most ${MAX_SAMPLE} characters as JSON, without NUL`)

function isStorable(data: unknown): boolean {
  try {
    const text = JSON.stringify(data ?? null)
    return text.length <= MAX_SAMPLE && !text.includes('\\u0000')
  } catch {
    return false // too deep
  }
}

/** What a template says. */
export const writtenFields = {
  subject: filled(998),
  body: plain(1_000_000).min(1, 'must not be empty').meta({ description: 'HTML, MJML or text' }),
  text: plain(1_000_000)
    .nullish()
    .meta({ description: 'the text part beside HTML; where there is none, one is made of the HTML' }),
  format,
  sample_data: sample.meta({ description: 'params for previews; declares their names' }),
}

/** What POST /templates/save takes. */
export const templateFields = z.object({
  id: z.string().refine(isUuid, 'must be the id of a template').nullish(),
  name: filled(255),
  ...writtenFields,
  description: plain(2000).nullish(),
  category: line(255).nullish(),
})

export type TemplateFields = z.output<typeof templateFields>

export type SavedTemplate =
  | { readonly kind: 'saved'; readonly template: Template; readonly finished: Finished }
  /** `reason` is for the author. */
  | { readonly kind: 'invalid'; readonly reason: string }
  /** There is no template with this id in this workspace. */
  | { readonly kind: 'not-found' }

export interface TemplateStore {
  readonly db: Db
  readonly renderer: Pick<Renderer, 'finish'>
}

export const CONTENT = `name, subject, body, text_body AS text, format, sample_data AS "sampleData", partials, version`
const COLUMNS = `id, ${CONTENT}, description, category, created_at AS "createdAt", updated_at AS "updatedAt"`
const FIND = `SELECT ${COLUMNS} FROM templates WHERE id = $1 AND workspace_id = $2`

export type TemplateRow = Omit<Template, 'format'> & { readonly format: TemplateFormat | null }

export function fromRow(row: TemplateRow): Template {
  return { ...row, format: formatOf(row.format, row.body) }
}

/** Makes a template, or with an id its next version; of that, what is left out stays and null clears. */
export function saveTemplate(
  store: TemplateStore,
  workspaceId: string,
  fields: TemplateFields,
): Promise<SavedTemplate> {
  return untilStored('a template', () => trySave(store, workspaceId, fields))
}

async function trySave(
  { db, renderer }: TemplateStore,
  workspaceId: string,
  fields: TemplateFields,
): Promise<SavedTemplate | Outrun> {
  const old = fields.id === undefined || fields.id === null ? null : await findTemplate(db, workspaceId, fields.id)
  if (fields.id && old === null) return { kind: 'not-found' }
  const text = fields.text === undefined ? (old?.text ?? null) : fields.text
  const partials = await loadPartials(db, workspaceId, guessPartials(fields.body, text))
  const written = { subject: fields.subject, body: fields.body, text, format: fields.format ?? null }
  const finished = await renderer.finish(workspaceId, written, partials.bodies)
  if (!finished.ok) return { kind: 'invalid', reason: finished.reason }
  if (finished.format === 'text' && fields.text)
    return { kind: 'invalid', reason: 'the body is text: there is no text part beside it' }
  if (partials.full !== null && old?.partials[partials.full] === undefined)
    return {
      kind: 'invalid',
      reason: `the partial ${partials.full} is in ${MAX_USERS} templates, which is as many as may have it`,
    }
  const used = Object.fromEntries(finished.partials.map((name) => [name, partials.versions[name] ?? 0]))
  return db.transaction(async (tx) => {
    if (!(await lockPartials(tx, workspaceId, used))) return { kind: 'outrun' }
    const {
      rows: [now],
    } = old === null ? { rows: [] } : await tx.query<{ text: string | null }>(LOCK, [old.id, workspaceId])
    if (old !== null && now === undefined) return { kind: 'not-found' }
    if (old !== null && fields.text === undefined && now?.text !== old.text) return { kind: 'outrun' }
    const stored = { ...fields, text: finished.format === 'text' ? null : text }
    const values = [old?.id ?? newId(), workspaceId, ...columnsOf(stored, finished, used)]
    const {
      rows: [row],
    } =
      old === null
        ? await tx.query<TemplateRow>(keepVersion(INSERT), values)
        : await tx.query<TemplateRow>(keepVersion(UPDATE), [...values, ...givenOf(fields)])
    if (row === undefined) throw new Error('a saved template is not there')
    return { kind: 'saved', template: fromRow(row), finished }
  })
}

const LOCK = 'SELECT text_body AS text FROM templates WHERE id = $1 AND workspace_id = $2 FOR UPDATE'

function columnsOf(fields: TemplateFields, finished: Finished, partials: PartialVersions): unknown[] {
  const { name, subject, body, text, description, category, sample_data: sampleData } = fields
  return [
    name,
    subject,
    body,
    text,
    finished.format,
    ...finishedColumns(body, text ?? null, finished),
    JSON.stringify(partials),
    json(sampleData),
    description ?? null,
    category ?? null,
  ]
}

/** What was not left out. */
function givenOf({ sample_data: sampleData, description, category }: TemplateFields): boolean[] {
  return [sampleData !== undefined, description !== undefined, category !== undefined]
}

function json(value: unknown): string | null {
  return value === undefined || value === null ? null : JSON.stringify(value)
}

/** Of `finished` and `finished_text`: null where it is what was written. */
export function finishedColumns(body: string, text: string | null, finished: Finished): [string | null, string | null] {
  const [first, second] = finished.format === 'text' ? [finished.text, null] : [finished.html, finished.text]
  return [first === body ? null : first, second === text ? null : second]
}

const INSERT = sql`
  INSERT INTO templates (
    id, workspace_id, name, subject, body, text_body, format, finished, finished_text, partials, sample_data,
    description, category
  )
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
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
    sample_data = CASE WHEN $14 THEN $11::jsonb ELSE sample_data END,
    description = CASE WHEN $15 THEN $12 ELSE description END,
    category = CASE WHEN $16 THEN $13 ELSE category END,
    version = version + 1,
    updated_at = now()
  WHERE id = $1 AND workspace_id = $2
  RETURNING *
`

/** What a statement saved also becomes a version. */
export const keepVersion = (save: string): string => sql`
  WITH saved AS (
    ${save}
  ),
  kept AS (
    INSERT INTO template_versions (
      template_id, version, workspace_id, name, subject, body, created_at, format, text_body, finished, finished_text,
      sample_data, partials
    )
    SELECT id, version, workspace_id, name, subject, body, updated_at, format, text_body, finished, finished_text,
      sample_data, partials
    FROM saved
  )
  SELECT ${COLUMNS}
  FROM saved
`

/** Null when this workspace has none with this id; text that is no id finds none either. */
export async function findTemplate(db: Queryable, workspaceId: string, id: string): Promise<Template | null> {
  if (!isUuid(id)) return null
  const {
    rows: [row],
  } = await db.query<TemplateRow>(FIND, [id, workspaceId])
  return row === undefined ? null : fromRow(row)
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

/** Newest first. */
export async function listTemplates(db: Queryable, workspaceId: string, wish: PageWish): Promise<TemplatePage> {
  const listing = {
    columns: COLUMNS,
    from: 'templates',
    where: 'workspace_id = $1',
    order: 'created_at DESC, id DESC',
    values: [workspaceId],
  }
  const { items, total } = await readPage<TemplateRow>(db, listing, wish)
  return { templates: items.map(fromRow), total }
}
