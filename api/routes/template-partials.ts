/**
 * Partials of the workspace, with either kind of key. Saving a partial creates the next version of each template
 * that uses it; a partial in use cannot be deleted.
 */
import { z } from 'zod'
import { refuse } from '#src/platform/errors.ts'
import { savePartial } from '#src/templates/save-partial.ts'
import {
  deletePartial,
  findPartial,
  listPartials,
  listTemplatesUsing,
  partialFields,
  type PartialRow,
  type TemplateUsingPartial,
} from '#src/templates/partial-store.ts'
import { limitCompiling } from '#api/http/compile-limit.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { nextCursor, paging, wholeLimit } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { envelope, nextCursorField, timestamp } from '#api/http/response-schemas.ts'
import { countText } from '#src/platform/plural.ts'
import { templatePaths } from './templates.ts'

const NO_PARTIAL = refuse('NOT_FOUND', 'There is no such partial. List them with list-partials.')
const byName = z.object({ name: z.string() })

const partialSchema = z.object({
  name: z.string(),
  version: z.int().min(1),
  uses: z.int().min(0).meta({ description: 'the number of templates that use it' }),
  created_at: timestamp,
  updated_at: timestamp,
})
const partialUser = z.object({ id: z.uuid(), name: z.string(), version: z.int().min(1) })
const partialResponse = envelope(partialSchema.extend({ body: z.string(), templates: z.array(partialUser) })).meta({
  id: 'PartialAnswer',
})

const list = route({
  name: 'list-partials',
  summary: 'List the partials of the workspace, by name',
  method: 'GET',
  paths: templatePaths('/partials'),
  access: 'any',
  query: z.object({ limit: wholeLimit, cursor: paging.shape.cursor }),
  status: 200,
  response: envelope(z.object({ partials: z.array(partialSchema), ...nextCursorField })),
  errors: [],
  handle: async (ctx, request) => {
    const page = openPage(ctx, 'list-partials', request)
    if (isRefusal(page)) return page
    const { items, next } = await listPartials(ctx.db, request.caller.workspaceId, page)
    const data = { partials: items.map(presentPartialRow), ...nextCursor(next, page) }
    return { body: { success: true, message: `${countText(items.length, 'partial')}.`, data } }
  },
})

const get = route({
  name: 'get-partial',
  summary: 'Get a partial and the templates that use it',
  method: 'GET',
  paths: templatePaths('/partials/:name'),
  access: 'any',
  params: byName,
  status: 200,
  response: partialResponse,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const found = await findPartial(ctx.db, caller.workspaceId, params.name)
    if (found === null) return NO_PARTIAL
    const users = await listTemplatesUsing(ctx.db, caller.workspaceId, params.name)
    return { body: { success: true, message: 'Partial found.', data: presentPartial(found, users) } }
  },
})

const save = route({
  name: 'save-partial',
  summary: 'Save a partial and create the next version of each template that uses it',
  method: 'POST',
  paths: templatePaths('/partials/save'),
  access: 'any',
  body: partialFields,
  status: 200,
  response: partialResponse,
  errors: ['INVALID_TEMPLATE'],
  handle: async (ctx, { caller, body }) => {
    const limited = limitCompiling(ctx, caller.workspaceId)
    if (limited !== null) return limited
    const saved = await savePartial(ctx, caller.workspaceId, body)
    if (saved.kind === 'invalid') return refuse('INVALID_TEMPLATE', `The partial is invalid: ${saved.reason}`)
    return { body: { success: true, message: 'Partial saved.', data: presentPartial(saved.partial, saved.templates) } }
  },
})

const remove = route({
  name: 'delete-partial',
  summary: 'Delete a partial that no template uses',
  method: 'DELETE',
  paths: templatePaths('/partials/:name'),
  access: 'any',
  params: byName,
  status: 204,
  errors: ['CONFLICT', 'NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const deleted = await deletePartial(ctx.db, caller.workspaceId, params.name)
    if (deleted.kind === 'used')
      return refuse('CONFLICT', `The template "${deleted.template}" uses this partial. Change that first.`)
    return deleted.kind === 'deleted' ? {} : NO_PARTIAL
  },
})

export const TEMPLATE_PARTIAL_ROUTES: readonly AnyRoute[] = [list, save, get, remove]

function presentPartialRow({ name, version, uses, createdAt, updatedAt }: PartialRow): Record<string, unknown> {
  return { name, version, uses, created_at: createdAt.toISOString(), updated_at: updatedAt.toISOString() }
}

function presentPartial(partial: PartialRow, templates: readonly TemplateUsingPartial[]): Record<string, unknown> {
  return { ...presentPartialRow(partial), body: partial.body, templates }
}
