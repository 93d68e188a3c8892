/**
 * The suppression list as a file: import from CSV of any length or from a JSON list, and export as CSV. Both work
 * in slices. When a client disconnects, the rows read until then are on the list.
 */
import { Readable } from 'node:stream'
import { z } from 'zod'
import { invalid } from '#src/platform/errors.ts'
import { CSV_HEADER, kindOf, readListCsv, writeListCsv, type ListRow } from '#src/suppression/csv.ts'
import { importList } from '#src/suppression/import.ts'
import { readSuppressions, type SuppressionFilter } from '#src/suppression/list.ts'
import type { ApiContext } from '#api/http/context.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { envelope } from '#api/http/response-schemas.ts'
import { ACCESS, suppressionFilterOf, suppressionFilters } from './suppressions.ts'

const MAX_LISTED = 100_000
const listedItem = z.union([
  z.string(),
  z.object({
    email: z.string().optional(),
    address: z.string().optional(),
    reason: z.string().nullish(),
    kind: z.string().nullish(),
    type: z.string().nullish(),
  }),
])
type ListedItem = z.output<typeof listedItem>
const itemList = z.array(listedItem).max(MAX_LISTED, `at most ${MAX_LISTED} in JSON; send more as text/csv`).optional()
const importBody = z.object({ suppressions: itemList, emails: itemList, addresses: itemList }).optional()
const count = z.int().min(0)
const rowProblem = z.object({ line: count.nullable(), value: z.string(), message: z.string() })

const importAll = route({
  name: 'import-suppressions',
  summary: 'Import suppressed addresses from a file (text/csv) or a JSON list',
  description:
    'The column of addresses is called `email` or `address`, or is the first one. Columns `reason` and `kind` are ' +
    'optional. Rows without a valid address are skipped and reported. An import can be repeated: ' +
    'nothing is added twice.',
  method: 'POST',
  paths: ['/public/suppressions/import'],
  access: ACCESS,
  accepts: ['json', 'csv'],
  body: importBody,
  status: 200,
  errors: ['VALIDATION_ERROR'],
  response: envelope(
    z.object({ added: count, strengthened: count, unchanged: count, invalid: count, errors: z.array(rowProblem) }),
  ),
  handle: async (ctx, { caller, body, bodyStream: source, headers }) => {
    const given = body?.suppressions ?? body?.emails ?? body?.addresses
    const isFile = /^text\/csv\b/i.test(headers['content-type'] ?? '')
    if (!isFile && given === undefined) return invalid([{ path: 'suppressions', message: 'is required' }])
    const rows = isFile ? readListCsv(source) : (given ?? []).map(toListRow)
    const data = await importList(ctx, { workspaceId: caller.workspaceId, apiKeyId: caller.keyId }, rows)
    const listed = data.strengthened + data.unchanged
    const message = `${data.added} added, ${listed} already listed, ${data.invalid} invalid.`
    return { body: { success: true, message, data } }
  },
})

function toListRow(given: ListedItem, i: number): ListRow {
  const one = typeof given === 'string' ? { email: given } : given
  const address = (one.email ?? one.address ?? '').trim()
  return {
    kind: 'entry',
    line: i + 1,
    entry: { address, reason: one.reason ?? null, kind: kindOf(one.kind ?? one.type ?? '') },
  }
}

const exportAll = route({
  name: 'export-suppressions',
  summary: 'Export the suppression list as CSV, by address',
  method: 'GET',
  paths: ['/public/suppressions/export'],
  access: ACCESS,
  query: suppressionFilters,
  status: 200,
  produces: ['text/csv'],
  errors: [],
  handle: (ctx, { caller, query }) =>
    Promise.resolve({
      type: 'text/csv; charset=utf-8',
      body: Readable.from(csvLines(ctx, caller.workspaceId, suppressionFilterOf(query))),
      headers: { 'Content-Disposition': 'attachment; filename="suppressions.csv"' },
    }),
})

async function* csvLines(ctx: ApiContext, workspaceId: string, filter: SuppressionFilter): AsyncGenerator<string> {
  yield `${CSV_HEADER.join(',')}\r\n`
  for await (const slice of readSuppressions(ctx.db, workspaceId, filter)) yield writeListCsv(slice)
}

export const SUPPRESSION_FILE_ROUTES: readonly AnyRoute[] = [importAll, exportAll]
