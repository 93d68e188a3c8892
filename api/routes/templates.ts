/**
 * Stored templates, with either kind of key: listed, shown, saved, deleted. Saving with an `id` makes its next version. One that an
 * automation or a campaign needs is not deleted.
 */
import { z } from 'zod'
import { findTemplateUse } from '#src/campaigns/template-uses.ts'
import { refuse } from '#src/errors.ts'
import { deleteTemplate, findTemplate, listTemplates, saveTemplate, templateFields, type Template } from '#src/templates/store.ts'
import { pageData, paging } from '#api/paging.ts'
import { route, type AnyRoute } from '#api/route.ts'
import { enveloped, moment, pageOf } from '#api/shapes.ts'

const NO_TEMPLATE = refuse('NOT_FOUND', 'There is no such template.')
const byId = z.object({ id: z.string() })

const text = z.string().nullable()
const template = z.object({
  id: z.uuid(), template_id: z.uuid(), name: z.string(), subject: z.string(), body: z.string(), description: text, category: text,
  version: z.int().min(1), created_at: moment, updated_at: moment, createdAt: moment, updatedAt: moment,
})
const oneTemplate = enveloped(template).meta({ id: 'TemplateAnswer' })

const list = route({
  name: 'list-templates', summary: 'The templates of the workspace, newest first', method: 'GET',
  paths: ['/templates', '/public/templates'],
  access: 'any', query: paging, status: 200, answer: pageOf('templates', template), errors: [],
  handle: async (ctx, { caller, query }) => {
    const { templates, total } = await listTemplates(ctx.db, caller.workspaceId, query.page, query.limit)
    const data = pageData('templates', { items: templates.map(present), total }, query)
    return { body: { success: true, message: `${total} templates.`, data } }
  },
})

const get = route({
  name: 'get-template', summary: 'One template', method: 'GET', paths: ['/templates/:id', '/public/templates/:id'], access: 'any',
  params: byId,
  status: 200, answer: oneTemplate, errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const found = await findTemplate(ctx.db, caller.workspaceId, params.id)
    return found === null ? NO_TEMPLATE : { body: { success: true, message: 'Template found.', data: present(found) } }
  },
})

const save = route({
  name: 'save-template', summary: 'Store a template, or the next version of one', method: 'POST',
  paths: ['/templates/save', '/public/templates/save'], access: 'any', body: templateFields, status: 200, answer: oneTemplate,
  errors: ['INVALID_TEMPLATE', 'NOT_FOUND'],
  handle: async (ctx, { caller, body }) => {
    const saved = await saveTemplate(ctx, caller.workspaceId, body)
    if (saved.kind === 'not-found') return NO_TEMPLATE
    if (saved.kind === 'invalid') return refuse('INVALID_TEMPLATE', `The template is not valid: ${saved.reason}`)
    return { body: { success: true, message: 'Template saved.', data: present(saved.template) } }
  },
})

const remove = route({
  name: 'delete-template', summary: 'Delete a template that no automation or campaign needs; mail that was made from it is not changed',
  method: 'DELETE', paths: ['/templates/:id', '/public/templates/:id'], access: 'any', params: byId, status: 204,
  errors: ['CONFLICT', 'NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const found = await findTemplate(ctx.db, caller.workspaceId, params.id)
    if (found === null) return NO_TEMPLATE
    const use = await findTemplateUse(ctx.db, caller.workspaceId, found.id)
    if (use !== null) return refuse('CONFLICT', `The ${use.kind} "${use.name}" uses this template.`)
    return await deleteTemplate(ctx.db, caller.workspaceId, found.id) ? {} : NO_TEMPLATE
  },
})

export const TEMPLATE_ROUTES: readonly AnyRoute[] = [list, get, save, remove]

function present({ id, name, subject, body, description, category, version, createdAt, updatedAt }: Template): Record<string, unknown> {
  const [created, updated] = [createdAt.toISOString(), updatedAt.toISOString()]
  return {
    id, template_id: id, name, subject, body, description, category, version,
    created_at: created, updated_at: updated, createdAt: created, updatedAt: updated,
  }
}
