/**
 * Stored templates with all their versions, with either kind of key: list, get, save and delete. Saving with an
 * `id` creates the next version. A template that an automation or a campaign uses cannot be deleted. Partials and
 * previews have their own files.
 */
import { z } from 'zod'
import { countTemplateUses, findTemplateUsage } from '#src/campaigns/template-usage.ts'
import { refuse } from '#src/platform/errors.ts'
import { findAttributeWarnings } from '#src/templates/attribute-warnings.ts'
import {
  deleteTemplate,
  findTemplate,
  listTemplates,
  saveTemplate,
  templateFields,
  type Template,
} from '#src/templates/store.ts'
import { findAuthoredVersion, listVersions, type TemplateVersion } from '#src/templates/version-list.ts'
import { findTemplateVersion, FORMATS, type CompiledTemplateVersion } from '#src/templates/versions.ts'
import { limitCompiling } from '#api/http/compile-limit.ts'
import { mapPage } from '#src/stores/page.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { pageData, paging } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { envelope, timestamp, pagedList } from '#api/http/response-schemas.ts'
import { countText } from '#src/platform/plural.ts'

export const NO_TEMPLATE = refuse('NOT_FOUND', 'There is no such template. List them with list-templates.')
const byId = z.object({ id: z.string() })
const byVersion = z.object({ id: z.string(), version: z.string() })
/** Every path also exists below `/public`. */
export const templatePaths = (rest: string): [string, string] => [`/templates${rest}`, `/public/templates${rest}`]

const nullableText = z.string().nullable()
const contentSchema = z.object({
  id: z.uuid(),
  template_id: z.uuid(),
  name: z.string(),
  subject: z.string(),
  body: z.string(),
  text: nullableText,
  format: z.enum(FORMATS),
  sample_data: z.record(z.string(), z.unknown()).nullable(),
  document: z
    .record(z.string(), z.unknown())
    .nullable()
    .meta({ description: 'what the block editor made the body from; null if the body is written as code' }),
  partials: z.array(z.object({ name: z.string(), version: z.int().min(1) })),
  version: z.int().min(1),
  created_at: timestamp,
  createdAt: timestamp,
})
const templateSchema = contentSchema.extend({
  description: nullableText,
  category: nullableText,
  updated_at: timestamp,
  updatedAt: timestamp,
})
const compiledSchema = z
  .object({ subject: z.string(), html: nullableText, text: nullableText })
  .meta({ description: 'what is rendered: partials included, MJML compiled, CSS inlined' })
const usesSchema = z
  .object({ automations: z.int().min(0), campaigns: z.int().min(0) })
  .meta({ description: 'how many active or paused automations, and scheduled or sending campaigns, use it' })
const templateResponse = envelope(templateSchema.extend({ compiled: compiledSchema })).meta({ id: 'TemplateAnswer' })
const savedResponse = envelope(
  templateSchema.extend({
    compiled: compiledSchema,
    warnings: z.array(z.string()).meta({ description: 'names that are probably misspelt attributes of contacts' }),
  }),
).meta({ id: 'SavedTemplate' })
const versionResponse = envelope(contentSchema.extend({ compiled: compiledSchema })).meta({
  id: 'TemplateVersionAnswer',
})

const list = route({
  name: 'list-templates',
  summary: 'List the templates of the workspace, newest first',
  method: 'GET',
  paths: templatePaths(''),
  access: 'any',
  query: paging,
  status: 200,
  response: pagedList('templates', templateSchema.extend({ used_by: usesSchema })),
  errors: [],
  handle: async (ctx, request) => {
    const { caller } = request
    const page = openPage(ctx, 'list-templates', request)
    if (isRefusal(page)) return page
    const found = await listTemplates(ctx.db, caller.workspaceId, page)
    const uses = await countTemplateUses(
      ctx.db,
      caller.workspaceId,
      found.items.map(({ id }) => id),
    )
    const present = (template: Template): Record<string, unknown> => {
      const { automations = 0, campaigns = 0 } = uses.get(template.id) ?? {}
      return { ...presentTemplate(template), used_by: { automations, campaigns } }
    }
    const data = pageData('templates', mapPage(found, present), page)
    return { body: { success: true, message: `${countText(found.total, 'template')}.`, data } }
  },
})

const get = route({
  name: 'get-template',
  summary: 'Get a template: its source and its compiled form',
  method: 'GET',
  paths: templatePaths('/:id'),
  access: 'any',
  params: byId,
  status: 200,
  response: templateResponse,
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
        data: { ...presentTemplate(found), compiled: presentCompiled(finished) },
      },
    }
  },
})

const save = route({
  name: 'save-template',
  summary: 'Save a template, or the next version of one',
  method: 'POST',
  paths: templatePaths('/save'),
  access: 'any',
  body: templateFields,
  status: 200,
  response: savedResponse,
  errors: ['INVALID_TEMPLATE', 'NOT_FOUND'],
  handle: async (ctx, { caller, body }) => {
    const limited = limitCompiling(ctx, caller.workspaceId)
    if (limited !== null) return limited
    const saved = await saveTemplate(ctx, caller.workspaceId, body)
    if (saved.kind === 'not-found') return NO_TEMPLATE
    if (saved.kind === 'invalid') return refuse('INVALID_TEMPLATE', `The template is invalid: ${saved.reason}`)
    const { template, compiled } = saved
    const declared = Object.keys(template.sampleData ?? {})
    const warnings = await findAttributeWarnings(ctx.db, caller.workspaceId, compiled.attributes, declared)
    const data = { ...presentTemplate(template), compiled: presentCompiled(compiled), warnings }
    return { body: { success: true, message: ['Template saved.', ...warnings].join(' '), data } }
  },
})

const remove = route({
  name: 'delete-template',
  summary: 'Delete a template that no automation or campaign uses; mail rendered from it is not changed',
  method: 'DELETE',
  paths: templatePaths('/:id'),
  access: 'any',
  params: byId,
  status: 204,
  errors: ['CONFLICT', 'NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const found = await findTemplate(ctx.db, caller.workspaceId, params.id)
    if (found === null) return NO_TEMPLATE
    const use = await findTemplateUsage(ctx.db, caller.workspaceId, found.id)
    if (use !== null)
      return refuse('CONFLICT', `The ${use.kind} "${use.name}" uses this template. Change or delete that first.`)
    return (await deleteTemplate(ctx.db, caller.workspaceId, found.id)) ? {} : NO_TEMPLATE
  },
})

const listVersionsRoute = route({
  name: 'list-template-versions',
  summary: 'List the versions of a template, latest first',
  method: 'GET',
  paths: templatePaths('/:id/versions'),
  access: 'any',
  params: byId,
  query: paging,
  status: 200,
  response: pagedList('versions', contentSchema),
  errors: ['NOT_FOUND'],
  handle: async (ctx, request) => {
    const { caller, params } = request
    const page = openPage(ctx, 'list-template-versions', request)
    if (isRefusal(page)) return page
    if ((await findTemplate(ctx.db, caller.workspaceId, params.id)) === null) return NO_TEMPLATE
    const found = await listVersions(ctx.db, caller.workspaceId, params.id, page)
    const data = pageData('versions', mapPage(found, presentContent), page)
    return { body: { success: true, message: `${countText(found.total, 'version')}.`, data } }
  },
})

const getVersion = route({
  name: 'get-template-version',
  summary: 'Get a version of a template',
  method: 'GET',
  paths: templatePaths('/:id/versions/:version'),
  access: 'any',
  params: byVersion,
  status: 200,
  response: versionResponse,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params: { id, version: versionText } }) => {
    const finished = /^[1-9]\d{0,8}$/.test(versionText)
      ? await findTemplateVersion(ctx.db, caller.workspaceId, id, Number(versionText))
      : null
    const found = finished === null ? null : await findAuthoredVersion(ctx.db, caller.workspaceId, id, finished.version)
    if (found === null || finished === null)
      return refuse('NOT_FOUND', 'There is no such version. List them with list-template-versions.')
    return {
      body: {
        success: true,
        message: 'Version found.',
        data: { ...presentContent(found), compiled: presentCompiled(finished) },
      },
    }
  },
})

export const TEMPLATE_ROUTES: readonly AnyRoute[] = [list, get, save, remove, listVersionsRoute, getVersion]

function presentTemplate(found: Template): Record<string, unknown> {
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
  document,
  partials,
  version,
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
    document,
    partials: Object.entries(partials).map(([partial, partialVersion]) => ({ name: partial, version: partialVersion })),
    version: version,
    created_at: created,
    createdAt: created,
  }
}

function presentCompiled({
  subject,
  html,
  text: part,
}: Pick<CompiledTemplateVersion, 'subject' | 'html' | 'text'>): object {
  return { subject, html, text: part }
}
