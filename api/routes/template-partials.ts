/**
 * Partials of the workspace, with either kind of key. Saving one makes a next version of each template that has it; one that a template
 * has is not deleted.
 */
import { z } from 'zod'
import { refuse } from '#src/platform/errors.ts'
import { savePartial } from '#src/templates/partial-change.ts'
import {
  deletePartial,
  findPartial,
  listPartials,
  listUsers,
  partialFields,
  type PartialRow,
  type PartialUser,
} from '#src/templates/partial-store.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { enveloped, moment } from '#api/http/answer-shapes.ts'
import { templatePaths } from './templates.ts'

const NO_PARTIAL = refuse('NOT_FOUND', 'There is no such partial.')
const byName = z.object({ name: z.string() })

const listed = z.object({
  name: z.string(),
  version: z.int().min(1),
  uses: z.int().min(0).meta({ description: 'templates that have it' }),
  created_at: moment,
  updated_at: moment,
})
const user = z.object({ id: z.uuid(), name: z.string(), version: z.int().min(1) })
const one = enveloped(listed.extend({ body: z.string(), templates: z.array(user) })).meta({ id: 'PartialAnswer' })

const list = route({
  name: 'list-partials',
  summary: 'The partials of the workspace, by name',
  method: 'GET',
  paths: templatePaths('/partials'),
  access: 'any',
  status: 200,
  answer: enveloped(z.object({ partials: z.array(listed) })),
  errors: [],
  handle: async (ctx, { caller }) => {
    const partials = await listPartials(ctx.db, caller.workspaceId)
    return {
      body: { success: true, message: `${partials.length} partials.`, data: { partials: partials.map(present) } },
    }
  },
})

const get = route({
  name: 'get-partial',
  summary: 'One partial, and the templates that have it',
  method: 'GET',
  paths: templatePaths('/partials/:name'),
  access: 'any',
  params: byName,
  status: 200,
  answer: one,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const found = await findPartial(ctx.db, caller.workspaceId, params.name)
    if (found === null) return NO_PARTIAL
    const users = await listUsers(ctx.db, caller.workspaceId, params.name)
    return { body: { success: true, message: 'Partial found.', data: presentWhole(found, users) } }
  },
})

const save = route({
  name: 'save-partial',
  summary: 'Store a partial; each template that has it gets a next version with it',
  method: 'POST',
  paths: templatePaths('/partials/save'),
  access: 'any',
  body: partialFields,
  status: 200,
  answer: one,
  errors: ['INVALID_TEMPLATE'],
  handle: async (ctx, { caller, body }) => {
    const saved = await savePartial(ctx, caller.workspaceId, body)
    if (saved.kind === 'invalid') return refuse('INVALID_TEMPLATE', `The partial is not valid: ${saved.reason}`)
    return { body: { success: true, message: 'Partial saved.', data: presentWhole(saved.partial, saved.templates) } }
  },
})

const remove = route({
  name: 'delete-partial',
  summary: 'Delete a partial that no template has',
  method: 'DELETE',
  paths: templatePaths('/partials/:name'),
  access: 'any',
  params: byName,
  status: 204,
  errors: ['CONFLICT', 'NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const deleted = await deletePartial(ctx.db, caller.workspaceId, params.name)
    if (deleted.kind === 'used') return refuse('CONFLICT', `The template "${deleted.template}" has this partial.`)
    return deleted.kind === 'deleted' ? {} : NO_PARTIAL
  },
})

export const TEMPLATE_PARTIAL_ROUTES: readonly AnyRoute[] = [list, save, get, remove]

function present({ name, version, uses, createdAt, updatedAt }: PartialRow): Record<string, unknown> {
  return { name, version, uses, created_at: createdAt.toISOString(), updated_at: updatedAt.toISOString() }
}

function presentWhole(partial: PartialRow, templates: readonly PartialUser[]): Record<string, unknown> {
  return { ...present(partial), body: partial.body, templates }
}
