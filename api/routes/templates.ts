/** Stored templates: GET /templates and POST /templates/save, with either kind of key. Saving with an `id` makes its next version. */
import { refuse } from '#src/errors.ts'
import { listTemplates, saveTemplate, templateFields, type Template } from '#src/templates/store.ts'
import { pageData, paging } from '#api/paging.ts'
import { route } from '#api/route.ts'

export const getTemplates = route({
  name: 'list-templates',
  summary: 'The templates of the workspace, newest first',
  method: 'GET',
  paths: ['/templates', '/public/templates'],
  access: 'any',
  query: paging,
  status: 200,
  errors: ['SERVICE_UNAVAILABLE'],
  handle: async (ctx, { caller, query }) => {
    const { templates, total } = await listTemplates(ctx.db, caller.workspaceId, query.page, query.limit)
    return {
      body: { success: true, message: `${total} templates.`, data: pageData('templates', { items: templates.map(present), total }, query) },
    }
  },
})

export const saveOneTemplate = route({
  name: 'save-template',
  summary: 'Store a template, or the next version of one',
  method: 'POST',
  paths: ['/templates/save', '/public/templates/save'],
  access: 'any',
  body: templateFields,
  status: 200,
  errors: ['INVALID_TEMPLATE', 'NOT_FOUND', 'SERVICE_UNAVAILABLE'],
  handle: async (ctx, { caller, body }) => {
    const saved = await saveTemplate(ctx, caller.workspaceId, body)
    if (saved.kind === 'not-found') return refuse('NOT_FOUND', 'There is no such template.')
    if (saved.kind === 'invalid') return refuse('INVALID_TEMPLATE', `The template is not valid: ${saved.reason}`)
    return { body: { success: true, message: 'Template saved.', data: present(saved.template) } }
  },
})

function present({ id, name, subject, body, description, category, version, createdAt, updatedAt }: Template): Record<string, unknown> {
  const [created, updated] = [createdAt.toISOString(), updatedAt.toISOString()]
  return {
    id,
    template_id: id,
    name,
    subject,
    body,
    description,
    category,
    version,
    created_at: created,
    updated_at: updated,
    createdAt: created,
    updatedAt: updated,
  }
}
