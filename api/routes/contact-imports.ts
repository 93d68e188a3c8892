/**
 * Imports of contacts. The CSV file is the request body and is stored as it arrives; a worker imports it. The other
 * routes return its progress, its counts and the rows with errors. An import of another workspace is not found.
 */
import { z } from 'zod'
import { findAudience } from '#src/contacts/audiences.ts'
import { findFieldTranslation } from '#src/platform/field-texts.ts'
import { writeRows } from '#src/platform/csv.ts'
import { refuse } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import { cancelImport, findImport, listErrors, listImports, MAX_ERRORS } from '#src/imports/imports.ts'
import { findImportTranslation } from '#src/imports/reason-texts.ts'
import { storeUpload } from '#src/imports/upload.ts'
import { flag } from '#api/http/boolean-field.ts'
import { mapPage } from '#src/stores/page.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { nextCursor, pageData, paging, wholeLimit } from '#api/http/paging.ts'
import { reasonTranslator, wantsTranslations } from '#api/http/preferences.ts'
import { isRefusal } from '#api/http/response.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { envelope, nextCursorField, pagedList, translation } from '#api/http/response-schemas.ts'
import { countText } from '#src/platform/plural.ts'
import { NO_AUDIENCE } from './audiences.ts'
import { importSchema, presentImport } from './contact-import-view.ts'

const ACCESS = { admin: 'contacts:write' } as const
const byPath = z.object({ id: z.string() })
const mappingField = z
  .string()
  .max(16_384, 'is too long')
  .optional()
  .transform((text, sink) => {
    const parsed = z.record(z.string(), z.string().max(200).nullable()).safeParse(parseJson(text ?? '{}'))
    if (!parsed.success)
      sink.addIssue({ code: 'custom', message: 'must be a JSON object that maps column names to their meaning' })
    return parsed.success ? parsed.data : z.NEVER
  })
  .meta({
    description:
      'JSON: {"Column": "email", "Plan": "attribute:plan", "Note": "ignore"}; ' +
      'other columns are recognised by their names',
  })
const unknownColumnsField = z.enum(['ignore', 'attributes'], 'must be ignore or attributes').optional()
const aliasOf = (name: string): { description: string } => ({ description: `alias of ${name}` })

const importQuery = z
  .object({
    audienceId: z.string().optional(),
    audience_id: z.string().optional().meta(aliasOf('audienceId')),
    mapping: mappingField,
    dryRun: flag,
    dry_run: flag.meta(aliasOf('dryRun')),
    unknownColumns: unknownColumnsField.meta({
      description: 'what happens to unrecognised columns; by default ignore',
    }),
    unknown_columns: unknownColumnsField.meta(aliasOf('unknownColumns')),
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
const importResponse = envelope(importSchema).meta({ id: 'ContactImportAnswer' })

const NO_IMPORT = refuse('NOT_FOUND', 'There is no such import. List them with list-imports.')

const start = route({
  name: 'import-contacts',
  summary: 'Import contacts into an audience from the CSV file in the request body',
  description:
    'Send the file as `text/csv` in UTF-8, up to the size limit of the server. The response is sent when the file is ' +
    'stored; get the import to see its progress.',
  method: 'POST',
  paths: ['/public/contacts/import', '/public/contacts/imports'],
  access: ACCESS,
  query: importQuery,
  accepts: ['csv'],
  status: 201,
  response: importResponse,
  errors: ['NOT_FOUND', 'CONFLICT', 'PAYLOAD_TOO_LARGE'],
  handle: async (ctx, { caller: { workspaceId }, query, headers, bodyStream: source }) => {
    const audience = isUuid(query.audienceId) ? await findAudience(ctx.db, workspaceId, query.audienceId) : null
    if (audience === null) return NO_AUDIENCE
    const { maxImportBytes } = ctx.config
    if (Number(headers['content-length'] ?? 0) > maxImportBytes)
      return refuse('PAYLOAD_TOO_LARGE', `The file is larger than ${maxImportBytes} bytes. Split it.`)
    const stored = await storeUpload(ctx, { ...query, workspaceId }, source)
    if (stored.kind === 'refused') return stored.refusal
    const created = await findImport(ctx.db, workspaceId, stored.importId)
    return created === null
      ? NO_IMPORT
      : { body: { success: true, message: 'The file is stored and will be imported.', data: presentImport(created) } }
  },
})

const list = route({
  name: 'list-imports',
  summary: 'List the imports of the last 30 days, newest first',
  method: 'GET',
  paths: ['/public/contacts/imports'],
  access: ACCESS,
  status: 200,
  response: pagedList('imports', importSchema),
  errors: [],
  query: paging,
  handle: async (ctx, request) => {
    const { caller } = request
    const page = openPage(ctx, 'list-imports', request)
    if (isRefusal(page)) return page
    const found = await listImports(ctx.db, caller.workspaceId, page)
    const data = pageData('imports', mapPage(found, presentImport), page)
    return { body: { success: true, message: `${countText(found.total, 'import')}.`, data } }
  },
})

const get = route({
  name: 'get-import',
  summary: 'Get an import: its progress and its counts',
  method: 'GET',
  paths: ['/public/contacts/imports/:id'],
  access: ACCESS,
  params: byPath,
  status: 200,
  response: importResponse,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params, headers }) => {
    const found = isUuid(params.id) ? await findImport(ctx.db, caller.workspaceId, params.id) : null
    if (found === null) return NO_IMPORT
    const data = { ...presentImport(found), ...reasonTranslator(headers, findImportTranslation)(found.reason) }
    return { body: { success: true, message: `The import is ${found.state}.`, data } }
  },
})

const rowError = z.object({
  line: count,
  column: z.string().nullable(),
  message: z.string(),
  translation: translation
    .nullish()
    .meta({ description: 'with Prefer: translations: of the message; null: there is none' }),
  value: z.string().nullable(),
})
const getErrors = route({
  name: 'get-import-errors',
  summary: `List the first ${MAX_ERRORS} row errors of an import, as JSON or CSV`,
  method: 'GET',
  paths: ['/public/contacts/imports/:id/errors'],
  access: ACCESS,
  params: byPath,
  query: z.object({
    format: z.enum(['json', 'csv'], 'must be json or csv').default('json').meta({ description: 'csv has all of them' }),
    limit: wholeLimit,
    cursor: paging.shape.cursor,
  }),
  status: 200,
  produces: ['text/csv'],
  errors: ['NOT_FOUND'],
  response: envelope(
    z.object({
      errors: z.array(rowError),
      failed: count.meta({ description: 'rows that were not imported' }),
      ...nextCursorField,
    }),
  ),
  handle: async (ctx, request) => {
    const { caller, params, query } = request
    const page = openPage(ctx, 'get-import-errors', request)
    if (isRefusal(page)) return page
    const found = isUuid(params.id) ? await findImport(ctx.db, caller.workspaceId, params.id) : null
    if (found === null) return NO_IMPORT
    if (query.format === 'json') {
      const { items, next } = await listErrors(ctx.db, found.id, page)
      const errors = wantsTranslations(request.headers)
        ? items.map((one) => ({ ...one, translation: findFieldTranslation(one.message) }))
        : items
      const data = { errors, failed: found.failed, ...nextCursor(next, page) }
      return { body: { success: true, message: `${countText(found.failed, 'row')} failed.`, data } }
    }
    const { items: errors } = await listErrors(ctx.db, found.id)
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
  summary: 'Cancel an import; the rows imported until then stay',
  method: 'DELETE',
  paths: ['/public/contacts/imports/:id'],
  access: ACCESS,
  params: byPath,
  status: 200,
  response: envelope(z.object({ id: z.uuid(), status: z.literal('cancelled') })),
  errors: ['NOT_FOUND', 'CONFLICT'],
  handle: async (ctx, { caller, params }) => {
    const result = isUuid(params.id) ? await cancelImport(ctx.db, caller.workspaceId, params.id) : 'none'
    if (result === 'none') return NO_IMPORT
    if (result === 'ended before') return refuse('CONFLICT', 'The import has already ended. Get it to see its result.')
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
