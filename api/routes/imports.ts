/**
 * Contacts from a file: the CSV is the body of the request and is stored as it comes; a worker carries it out. How far it is, what it
 * counted and which rows are wrong is asked for here. Another workspace's import is not there.
 */
import { z } from 'zod'
import { findAudience } from '#src/contacts/audiences.ts'
import { writeRows } from '#src/platform/csv.ts'
import { refuse } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import {
  cancelImport,
  findImport,
  IMPORT_STATES,
  listErrors,
  listImports,
  MAX_ERRORS,
  type Import,
  type ImportState,
} from '#src/imports/imports.ts'
import { storeUpload } from '#src/imports/upload.ts'
import { flag } from '#api/http/flag.ts'
import { pageData, paging } from '#api/http/paging.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { enveloped, moment, pageOf } from '#api/http/answer-shapes.ts'
import { NO_AUDIENCE } from './audiences.ts'

const ACCESS = { admin: 'contacts:write' } as const
const byPath = z.object({ id: z.string() })
const mapping = z
  .string()
  .max(16_384, 'is too long')
  .optional()
  .transform((text, sink) => {
    const read = z.record(z.string(), z.string().max(200).nullable()).safeParse(parseJson(text ?? '{}'))
    if (!read.success)
      sink.addIssue({ code: 'custom', message: 'must be a JSON object of column names and what they are' })
    return read.success ? read.data : z.NEVER
  })
  .meta({
    description:
      'JSON: {"Column": "email", "Plan": "attribute:plan", "Note": "ignore"}; other columns are known by their names',
  })
const unknownColumns = z.enum(['ignore', 'attributes'], 'must be ignore or attributes').optional()
const aliasOf = (name: string): { description: string } => ({ description: `alias of ${name}` })

const order = z
  .object({
    audienceId: z.string().optional(),
    audience_id: z.string().optional().meta(aliasOf('audienceId')),
    mapping,
    dryRun: flag,
    dry_run: flag.meta(aliasOf('dryRun')),
    unknownColumns: unknownColumns.meta({
      description: 'what becomes of columns that nothing explains; ignore when left out',
    }),
    unknown_columns: unknownColumns.meta(aliasOf('unknownColumns')),
  })
  .transform((given, sink) => {
    const audienceId = given.audienceId ?? given.audience_id
    if (audienceId === undefined) sink.addIssue({ code: 'custom', path: ['audienceId'], message: 'is required' })
    return {
      audienceId: audienceId ?? z.NEVER,
      mapping: given.mapping,
      isDryRun: given.dryRun || given.dry_run,
      unknownColumns: given.unknownColumns ?? given.unknown_columns ?? 'ignore',
    }
  })

const count = z.int().min(0)
const shown = z
  .object({
    id: z.uuid(),
    object: z.literal('contact_import'),
    status: z.enum(Object.keys(IMPORT_STATES) as [ImportState, ...ImportState[]]),
    audienceId: z.uuid(),
    audience_id: z.uuid(),
    dryRun: z.boolean(),
    dry_run: z.boolean(),
    columns: z
      .array(z.object({ column: z.string(), meaning: z.string() }))
      .meta({ description: 'what each column of the file is taken for' }),
    progress: z.number().meta({ description: '0 to 1, of the bytes of the file' }),
    bytes: count,
    rows: z.object({
      read: count,
      added: count,
      updated: count,
      joined: count,
      duplicates: count,
      failed: count,
      blocked: count,
      unsubscribed: count,
    }),
    reason: z.string().nullable().meta({ description: 'why it failed' }),
    createdAt: moment,
    created_at: moment,
    finishedAt: moment.nullable(),
    finished_at: moment.nullable(),
  })
  .meta({ id: 'ContactImport' })
const one = enveloped(shown).meta({ id: 'ContactImportAnswer' })

const NO_IMPORT = refuse('NOT_FOUND', 'There is no such import.')

const start = route({
  name: 'import-contacts',
  summary: 'Import contacts into an audience from a CSV file, which is the body of the request',
  description:
    'Sent as `text/csv` in UTF-8, of any length up to the limit of the server. The answer comes when all of it is stored; ' +
    'ask for the import to see how far it is.',
  method: 'POST',
  paths: ['/public/contacts/import', '/public/contacts/imports'],
  access: ACCESS,
  query: order,
  accepts: ['csv'],
  status: 201,
  answer: one,
  errors: ['NOT_FOUND', 'CONFLICT', 'PAYLOAD_TOO_LARGE'],
  handle: async (ctx, { caller: { workspaceId }, query, headers, source }) => {
    const audience = isUuid(query.audienceId) ? await findAudience(ctx.db, workspaceId, query.audienceId) : null
    if (audience === null) return NO_AUDIENCE
    const { maxImportBytes } = ctx.config
    if (Number(headers['content-length'] ?? 0) > maxImportBytes)
      return refuse('PAYLOAD_TOO_LARGE', `The file is larger than ${maxImportBytes} bytes.`)
    const stored = await storeUpload(ctx, { ...query, workspaceId }, source)
    if (stored.kind === 'refused') return stored.refusal
    const made = await findImport(ctx.db, workspaceId, stored.importId)
    return made === null
      ? NO_IMPORT
      : { body: { success: true, message: 'The file is stored and will be imported.', data: present(made) } }
  },
})

const list = route({
  name: 'list-imports',
  summary: 'Imports of the last 30 days, the newest first',
  method: 'GET',
  paths: ['/public/contacts/imports'],
  access: ACCESS,
  status: 200,
  answer: pageOf('imports', shown),
  errors: [],
  query: paging,
  handle: async (ctx, { caller, query }) => {
    const found = await listImports(ctx.db, caller.workspaceId, query)
    const data = pageData('imports', { items: found.items.map(present), total: found.total }, query)
    return { body: { success: true, message: `${found.total} imports.`, data } }
  },
})

const get = route({
  name: 'get-import',
  summary: 'One import: how far it is and what it counted',
  method: 'GET',
  paths: ['/public/contacts/imports/:id'],
  access: ACCESS,
  params: byPath,
  status: 200,
  answer: one,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const found = isUuid(params.id) ? await findImport(ctx.db, caller.workspaceId, params.id) : null
    return found === null
      ? NO_IMPORT
      : { body: { success: true, message: `The import is ${found.state}.`, data: present(found) } }
  },
})

const rowError = z.object({
  line: count,
  column: z.string().nullable(),
  message: z.string(),
  value: z.string().nullable(),
})
const getErrors = route({
  name: 'get-import-errors',
  summary: `The first ${MAX_ERRORS} errors in the rows of an import, as JSON or CSV`,
  method: 'GET',
  paths: ['/public/contacts/imports/:id/errors'],
  access: ACCESS,
  params: byPath,
  query: z.object({ format: z.enum(['json', 'csv'], 'must be json or csv').default('json') }),
  status: 200,
  produces: ['text/csv'],
  errors: ['NOT_FOUND'],
  answer: enveloped(
    z.object({ errors: z.array(rowError), failed: count.meta({ description: 'rows that were not imported' }) }),
  ),
  handle: async (ctx, { caller, params, query }) => {
    const found = isUuid(params.id) ? await findImport(ctx.db, caller.workspaceId, params.id) : null
    if (found === null) return NO_IMPORT
    const errors = await listErrors(ctx.db, found.id)
    if (query.format === 'json')
      return {
        body: { success: true, message: `${found.failed} rows failed.`, data: { errors, failed: found.failed } },
      }
    const rows = errors.map(({ line, column, message, value }) => [String(line), column ?? '', message, value ?? ''])
    return {
      body: writeRows([['line', 'column', 'message', 'value'], ...rows]),
      type: 'text/csv; charset=utf-8',
      headers: { 'Content-Disposition': `attachment; filename="import-errors-${found.id}.csv"` },
    }
  },
})

const cancel = route({
  name: 'cancel-import',
  summary: 'End an import; the rows that were carried out stay',
  method: 'DELETE',
  paths: ['/public/contacts/imports/:id'],
  access: ACCESS,
  params: byPath,
  status: 200,
  answer: enveloped(z.object({ id: z.uuid(), status: z.literal('cancelled') })),
  errors: ['NOT_FOUND', 'CONFLICT'],
  handle: async (ctx, { caller, params }) => {
    const result = isUuid(params.id) ? await cancelImport(ctx.db, caller.workspaceId, params.id) : 'none'
    if (result === 'none') return NO_IMPORT
    if (result === 'ended before') return refuse('CONFLICT', 'The import has ended already.')
    return { body: { success: true, message: 'Import cancelled.', data: { id: params.id, status: 'cancelled' } } }
  },
})

export const IMPORT_ROUTES: readonly AnyRoute[] = [start, list, get, getErrors, cancel]

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

function present(made: Import): Record<string, unknown> {
  const {
    id,
    audienceId,
    state,
    isDryRun,
    layout,
    bytes,
    position,
    reason,
    createdAt,
    finishedAt,
    rowCount,
    ...counts
  } = made
  const { added, updated, joined, duplicates, failed, blocked, unsubscribed } = counts
  const [created, finished] = [createdAt.toISOString(), finishedAt?.toISOString() ?? null]
  return {
    id,
    object: 'contact_import',
    status: state,
    audienceId,
    audience_id: audienceId,
    dryRun: isDryRun,
    dry_run: isDryRun,
    columns: layout.columns.map(({ name, meaning }) => ({ column: name, meaning })),
    progress: state === 'done' ? 1 : bytes === 0 ? 0 : Math.floor((position / bytes) * 1000) / 1000,
    bytes,
    rows: { read: rowCount, added, updated, joined, duplicates, failed, blocked, unsubscribed },
    reason,
    createdAt: created,
    created_at: created,
    finishedAt: finished,
    finished_at: finished,
  }
}
