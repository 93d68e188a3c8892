/**
 * Stored templates, with either kind of key: listed, shown, saved, deleted, with all their versions. Saving with an `id` makes the next
 * version. One that an automation or a campaign needs is not deleted. Partials and previews have files of their own.
 */
import { z } from 'zod'
import { findTemplateUse } from '#src/campaigns/template-uses.ts'
import { refuse } from '#src/platform/errors.ts'
import {
  deleteTemplate,
  findTemplate,
  listTemplates,
  saveTemplate,
  templateFields,
  type Template,
} from '#src/templates/store.ts'
import { findWrittenVersion, listVersions, type TemplateVersion } from '#src/templates/version-list.ts'
import { findTemplateVersion, FORMATS, type FinishedTemplate } from '#src/templates/versions.ts'
import { pageData, paging } from '#api/http/paging.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { enveloped, moment, pageOf } from '#api/http/answer-shapes.ts'

export const NO_TEMPLATE = refuse('NOT_FOUND', 'There is no such template.')
const byId = z.object({ id: z.string() })
const byVersion = z.object({ id: z.string(), version: z.string() })
/** Below `/public`, too. */
export const templatePaths = (rest: string): [string, string] => [`/templates${rest}`, `/public/templates${rest}`]

const text = z.string().nullable()
const content = z.object({
  id: z.uuid(),
  template_id: z.uuid(),
  name: z.string(),
  subject: z.string(),
  body: z.string(),
  text,
  format: z.enum(FORMATS),
  sample_data: z.record(z.string(), z.unknown()).nullable(),
  partials: z.array(z.object({ name: z.string(), version: z.int().min(1) })),
  version: z.int().min(1),
  created_at: moment,
  createdAt: moment,
})
const template = content.extend({ description: text, category: text, updated_at: moment, updatedAt: moment })
const compiled = z
  .object({ subject: z.string(), html: text, text })
  .meta({ description: 'what is rendered: partials in, MJML compiled, CSS inlined' })
const oneTemplate = enveloped(template.extend({ compiled })).meta({ id: 'TemplateAnswer' })
const oneVersion = enveloped(content.extend({ compiled })).meta({ id: 'TemplateVersionAnswer' })

const list = route({
  name: 'list-templates',
  summary: 'The templates of the workspace, newest first',
  method: 'GET',
  paths: templatePaths(''),
  access: 'any',
  query: paging,
  status: 200,
  answer: pageOf('templates', template),
  errors: [],
  handle: async (ctx, { caller, query }) => {
    const { templates, total } = await listTemplates(ctx.db, caller.workspaceId, query)
    const data = pageData('templates', { items: templates.map(present), total }, query)
    return { body: { success: true, message: `${total} templates.`, data } }
  },
})

const get = route({
  name: 'get-template',
  summary: 'One template, as it was written and as it is rendered',
  method: 'GET',
  paths: templatePaths('/:id'),
  access: 'any',
  params: byId,
  status: 200,
  answer: oneTemplate,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const found = await findTemplate(ctx.db, caller.workspaceId, params.id)
    const finished =
      found === null ? null : await findTemplateVersion(ctx.db, caller.workspaceId, params.id, found.version)
    if (found === null || finished === null) return NO_TEMPLATE
    return {
      body: {
        success: true,
        message: 'Template found.',
        data: { ...present(found), compiled: presentFinished(finished) },
      },
    }
  },
})

const save = route({
  name: 'save-template',
  summary: 'Store a template, or the next version of one',
  method: 'POST',
  paths: templatePaths('/save'),
  access: 'any',
  body: templateFields,
  status: 200,
  answer: oneTemplate,
  errors: ['INVALID_TEMPLATE', 'NOT_FOUND'],
  handle: async (ctx, { caller, body }) => {
    const saved = await saveTemplate(ctx, caller.workspaceId, body)
    if (saved.kind === 'not-found') return NO_TEMPLATE
    if (saved.kind === 'invalid') return refuse('INVALID_TEMPLATE', `The template is not valid: ${saved.reason}`)
    const data = { ...present(saved.template), compiled: presentFinished(saved.finished) }
    return { body: { success: true, message: 'Template saved.', data } }
  },
})

const remove = route({
  name: 'delete-template',
  summary: 'Delete a template that no automation or campaign needs; mail that was made from it is not changed',
  method: 'DELETE',
  paths: templatePaths('/:id'),
  access: 'any',
  params: byId,
  status: 204,
  errors: ['CONFLICT', 'NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const found = await findTemplate(ctx.db, caller.workspaceId, params.id)
    if (found === null) return NO_TEMPLATE
    const use = await findTemplateUse(ctx.db, caller.workspaceId, found.id)
    if (use !== null) return refuse('CONFLICT', `The ${use.kind} "${use.name}" uses this template.`)
    return (await deleteTemplate(ctx.db, caller.workspaceId, found.id)) ? {} : NO_TEMPLATE
  },
})

const versions = route({
  name: 'list-template-versions',
  summary: 'All versions of a template, the latest first',
  method: 'GET',
  paths: templatePaths('/:id/versions'),
  access: 'any',
  params: byId,
  query: paging,
  status: 200,
  answer: pageOf('versions', content),
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params, query }) => {
    if ((await findTemplate(ctx.db, caller.workspaceId, params.id)) === null) return NO_TEMPLATE
    const found = await listVersions(ctx.db, caller.workspaceId, params.id, query)
    const data = pageData('versions', { items: found.versions.map(presentContent), total: found.total }, query)
    return { body: { success: true, message: `${found.total} versions.`, data } }
  },
})

const version = route({
  name: 'get-template-version',
  summary: 'A template as it was saved then',
  method: 'GET',
  paths: templatePaths('/:id/versions/:version'),
  access: 'any',
  params: byVersion,
  status: 200,
  answer: oneVersion,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params: { id, version: n } }) => {
    const finished = /^[1-9]\d{0,8}$/.test(n)
      ? await findTemplateVersion(ctx.db, caller.workspaceId, id, Number(n))
      : null
    const found = finished === null ? null : await findWrittenVersion(ctx.db, caller.workspaceId, id, finished.version)
    if (found === null || finished === null) return refuse('NOT_FOUND', 'There is no such version of a template.')
    return {
      body: {
        success: true,
        message: 'Version found.',
        data: { ...presentContent(found), compiled: presentFinished(finished) },
      },
    }
  },
})

export const TEMPLATE_ROUTES: readonly AnyRoute[] = [list, get, save, remove, versions, version]

function present(found: Template): Record<string, unknown> {
  const updated = found.updatedAt.toISOString()
  return {
    ...presentContent(found),
    description: found.description,
    category: found.category,
    updated_at: updated,
    updatedAt: updated,
  }
}

function presentContent({
  id,
  name,
  subject,
  body,
  text: part,
  format,
  sampleData,
  partials,
  version: n,
  createdAt,
}: TemplateVersion): Record<string, unknown> {
  const created = createdAt.toISOString()
  return {
    id,
    template_id: id,
    name,
    subject,
    body,
    text: part,
    format,
    sample_data: sampleData,
    partials: Object.entries(partials).map(([partial, its]) => ({ name: partial, version: its })),
    version: n,
    created_at: created,
    createdAt: created,
  }
}

function presentFinished({ subject, html, text: part }: Pick<FinishedTemplate, 'subject' | 'html' | 'text'>): object {
  return { subject, html, text: part }
}
