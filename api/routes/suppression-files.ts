/**
 * The suppression list as a file: taken in from CSV of any length, or a list in JSON, and given out as CSV, in both directions a slice at a
 * time. What was read before a client went away is on the list.
 */
import { Readable } from 'node:stream'
import { z } from 'zod'
import { invalid } from '#src/platform/errors.ts'
import { HEADER, kindOf, readList, writeList, type ListRow } from '#src/suppression/csv.ts'
import { importList } from '#src/suppression/import.ts'
import { readSuppressions, type ListFilter } from '#src/suppression/list.ts'
import type { ApiContext } from '#api/http/context.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { enveloped } from '#api/http/answer-shapes.ts'
import { ACCESS, filterOf, filters } from './suppressions.ts'

const MAX_LISTED = 100_000
const item = z.union([
  z.string(),
  z.object({
    email: z.string().optional(),
    address: z.string().optional(),
    reason: z.string().nullish(),
    kind: z.string().nullish(),
    type: z.string().nullish(),
  }),
])
type Item = z.output<typeof item>
const list = z.array(item).max(MAX_LISTED, `at most ${MAX_LISTED} in JSON; send more as text/csv`).optional()
const importBody = z.object({ suppressions: list, emails: list, addresses: list }).optional()
const count = z.int().min(0)
const problem = z.object({ line: count.nullable(), value: z.string(), message: z.string() })

const importAll = route({
  name: 'import-suppressions',
  summary: 'Suppress the addresses of a file (text/csv) or of a list in JSON',
  description:
    'The column of addresses is called `email` or `address`, or is the first one. Columns `reason` and `kind` are read where ' +
    'they are. What is no address is left out and told. An import can be repeated: nothing is added twice.',
  method: 'POST',
  paths: ['/public/suppressions/import'],
  access: ACCESS,
  accepts: ['json', 'csv'],
  body: importBody,
  status: 200,
  errors: ['VALIDATION_ERROR'],
  answer: enveloped(
    z.object({ added: count, strengthened: count, unchanged: count, invalid: count, errors: z.array(problem) }),
  ),
  handle: async (ctx, { caller, body, source, headers }) => {
    const given = body?.suppressions ?? body?.emails ?? body?.addresses
    const isFile = (headers['content-type'] ?? '').startsWith('text/csv')
    if (!isFile && given === undefined) return invalid([{ path: 'suppressions', message: 'is required' }])
    const rows = isFile ? readList(source) : (given ?? []).map(rowOf)
    const data = await importList(ctx, { workspaceId: caller.workspaceId, apiKeyId: caller.keyId }, rows)
    const message = `${data.added} added, ${data.strengthened + data.unchanged} were on the list, ${data.invalid} could not be read.`
    return { body: { success: true, message, data } }
  },
})

function rowOf(given: Item, i: number): ListRow {
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
  summary: 'The suppression list as CSV, by address',
  method: 'GET',
  paths: ['/public/suppressions/export'],
  access: ACCESS,
  query: filters,
  status: 200,
  produces: ['text/csv'],
  errors: [],
  handle: (ctx, { caller, query }) =>
    Promise.resolve({
      type: 'text/csv; charset=utf-8',
      body: Readable.from(linesOf(ctx, caller.workspaceId, filterOf(query))),
      headers: { 'Content-Disposition': 'attachment; filename="suppressions.csv"' },
    }),
})

async function* linesOf(ctx: ApiContext, workspaceId: string, filter: ListFilter): AsyncGenerator<string> {
  yield `${HEADER.join(',')}\r\n`
  for await (const slice of readSuppressions(ctx.db, workspaceId, filter)) yield writeList(slice)
}

export const SUPPRESSION_FILE_ROUTES: readonly AnyRoute[] = [importAll, exportAll]
