/**
 * Webhook endpoints of a workspace: register, list, update and delete them, and rotate their secret. Only the
 * responses of create and rotate contain the secret. A request names an endpoint in the path or by `?id=`; an
 * endpoint of another workspace is not found. `webhook-log.ts` has what an endpoint received.
 */
import { z } from 'zod'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import {
  createEndpoint,
  deleteEndpoint,
  findEndpoint,
  listEndpoints,
  MAX_ENDPOINTS,
  rotateSecret,
  updateEndpoint,
  type Endpoint,
  type EndpointChange,
} from '#src/webhooks/endpoints.ts'
import { readEventSelection } from '#src/webhooks/event-selection.ts'
import { ALL_TYPES, EVENT_TYPE_NAMES } from '#src/events/catalogue.ts'
import { validateTargetUrl } from '#src/webhooks/target-url.ts'
import type { ApiContext } from '#api/http/context.ts'
import { mapPage } from '#src/stores/page.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { pageData, paging } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { route, type ApiResponse, type AnyRoute } from '#api/http/route.ts'
import { envelope, timestamp, pagedList } from '#api/http/response-schemas.ts'
import { countText } from '#src/platform/plural.ts'

export const ACCESS = { admin: 'webhooks:manage' } as const
export const byPath = z.object({ id: z.string() })
const byQuery = z.object({ id: z.string({ error: 'is required' }) })
const MAX_DESCRIPTION = 500

const urlField = z.string().trim().nullish()
const typeList = z.array(z.string()).max(100, 'at most 100 types')
const typesInput = z.union([z.string(), typeList], 'must be a list of event types, or a text separated by commas')
const selectionField = typesInput
  .nullish()
  .meta({ description: `${EVENT_TYPE_NAMES.join(', ')}; by default, or with *, all` })
  .transform((given, sink) => {
    if (given === null || given === undefined) return null
    const read = readEventSelection(given)
    if (!read.ok) sink.addIssue({ code: 'custom', message: read.reason })
    return read.ok ? read.types : z.NEVER
  })
const aliasOf = (name: string): { description: string } => ({ description: `alias of ${name}` })

const endpointFields = z.object({
  url: urlField,
  endpoint: urlField.meta(aliasOf('url')),
  events: selectionField,
  event_types: selectionField.meta(aliasOf('events')),
  types: selectionField.meta(aliasOf('events')),
  description: z.string().max(MAX_DESCRIPTION, `at most ${MAX_DESCRIPTION} characters`).nullish(),
  is_active: z.boolean().nullish(),
  active: z.boolean().nullish().meta(aliasOf('is_active')),
  enabled: z.boolean().nullish().meta(aliasOf('is_active')),
})

const changeBody = endpointFields.transform((given): EndpointChange => ({
  url: given.url ?? given.endpoint ?? undefined,
  eventTypes: given.events ?? given.event_types ?? given.types ?? undefined,
  description: given.description,
  isActive: given.is_active ?? given.active ?? given.enabled ?? undefined,
}))

const createBody = changeBody
  .transform(({ url, eventTypes, description }, sink) => {
    if (url === undefined) sink.addIssue({ code: 'custom', path: ['url'], message: 'is required' })
    return url === undefined
      ? z.NEVER
      : { url, eventTypes: eventTypes ?? [ALL_TYPES], description: description ?? null }
  })
  .meta({
    required: ['url'],
    examples: [{ url: 'https://example.com/hooks/mail', events: ['email.delivered', 'email.bounced'] }],
  })

const webhookSchema = z
  .object({
    id: z.uuid(),
    object: z.literal('webhook'),
    url: z.string(),
    description: z.string().nullable(),
    events: z.array(z.string()).meta({ description: 'types, or * for all' }),
    event_types: z.array(z.string()),
    is_active: z.boolean(),
    disabled_reason: z.string().nullable().meta({ description: 'why it is disabled' }),
    previous_secret_until: timestamp.nullable().meta({ description: 'until when the previous secret also signs' }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Webhook' })
const webhookResponse = envelope(webhookSchema).meta({ id: 'WebhookAnswer' })
const secretField = z.string().meta({ description: 'whsec_…, shown only once' })
const withSecret = envelope(webhookSchema.extend({ secret: secretField })).meta({ id: 'WebhookSecret' })

const create = route({
  name: 'create-webhook',
  summary: 'Create a webhook endpoint; only this response contains its signing secret',
  method: 'POST',
  paths: ['/public/webhooks'],
  access: ACCESS,
  body: createBody,
  status: 201,
  response: withSecret,
  errors: ['CONFLICT'],
  handle: async (ctx, { caller, body }) => {
    const refusal = validateUrl(ctx, body.url)
    if (refusal !== null) return refusal
    const created = await createEndpoint(ctx, caller.workspaceId, body)
    if (created === null)
      return refuse('CONFLICT', `A workspace has at most ${MAX_ENDPOINTS} webhook endpoints. Delete one first.`)
    const data = { ...presentEndpoint(created.endpoint), secret: created.secret }
    return {
      body: { success: true, message: 'Webhook endpoint created. Store the secret: it is not shown again.', data },
    }
  },
})

const list = route({
  name: 'list-webhooks',
  summary: 'List the webhook endpoints of the workspace, newest first; with ?id=, get one',
  method: 'GET',
  paths: ['/public/webhooks'],
  access: ACCESS,
  query: paging.extend({ id: z.string().optional() }),
  status: 200,
  response: z.union([pagedList('webhooks', webhookSchema), webhookResponse]),
  errors: ['NOT_FOUND'],
  handle: async (ctx, request) => {
    const { caller, query } = request
    const page = openPage(ctx, 'list-webhooks', request)
    if (isRefusal(page)) return page
    if (query.id !== undefined) return respondWithEndpoint(ctx, caller.workspaceId, query.id)
    const found = await listEndpoints(ctx.db, caller.workspaceId, page)
    const data = pageData('webhooks', mapPage(found, presentEndpoint), page)
    return { body: { success: true, message: `${countText(found.total, 'webhook endpoint')}.`, data } }
  },
})

const get = route({
  name: 'get-webhook',
  summary: 'Get a webhook endpoint',
  method: 'GET',
  paths: ['/public/webhooks/:id'],
  access: ACCESS,
  params: byPath,
  status: 200,
  response: webhookResponse,
  errors: ['NOT_FOUND'],
  handle: (ctx, { caller, params }) => respondWithEndpoint(ctx, caller.workspaceId, params.id),
})

const UPDATE_ROUTE = {
  summary: 'Update a webhook endpoint: URL, event types, description, enabled or not; omitted fields are not changed',
  method: 'PATCH',
  access: ACCESS,
  body: changeBody,
  status: 200,
  response: webhookResponse,
  errors: ['NOT_FOUND'],
} as const
const update = route({
  ...UPDATE_ROUTE,
  name: 'update-webhook',
  paths: ['/public/webhooks/:id'],
  params: byPath,
  handle: (ctx, { caller, params, body }) => changeEndpoint(ctx, caller.workspaceId, params.id, body),
})
const updateByQuery = route({
  ...UPDATE_ROUTE,
  name: 'update-webhook-by-query',
  paths: ['/public/webhooks'],
  query: byQuery,
  handle: (ctx, { caller, query, body }) => changeEndpoint(ctx, caller.workspaceId, query.id, body),
})

const REMOVE_ROUTE = {
  summary: 'Delete a webhook endpoint; its waiting deliveries are not sent',
  method: 'DELETE',
  access: ACCESS,
  status: 204,
  errors: ['NOT_FOUND'],
} as const
const remove = route({
  ...REMOVE_ROUTE,
  name: 'delete-webhook',
  paths: ['/public/webhooks/:id'],
  params: byPath,
  handle: (ctx, { caller, params }) => removeEndpoint(ctx, caller.workspaceId, params.id),
})
const removeByQuery = route({
  ...REMOVE_ROUTE,
  name: 'delete-webhook-by-query',
  paths: ['/public/webhooks'],
  query: byQuery,
  handle: (ctx, { caller, query }) => removeEndpoint(ctx, caller.workspaceId, query.id),
})

const rotate = route({
  name: 'rotate-webhook-secret',
  summary: 'Rotate the signing secret; the previous secret also signs for 24 hours',
  method: 'POST',
  paths: ['/public/webhooks/:id/rotate-secret'],
  access: ACCESS,
  params: byPath,
  status: 200,
  response: withSecret,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const rotated = isUuid(params.id) ? await rotateSecret(ctx, caller.workspaceId, params.id) : null
    if (rotated === null) return NO_ENDPOINT
    const data = { ...presentEndpoint(rotated.endpoint), secret: rotated.secret }
    return { body: { success: true, message: 'Secret rotated. Store the new one: it is not shown again.', data } }
  },
})

export const WEBHOOK_ROUTES: readonly AnyRoute[] = [
  create,
  list,
  get,
  update,
  updateByQuery,
  remove,
  removeByQuery,
  rotate,
]

export const NO_ENDPOINT = refuse('NOT_FOUND', 'There is no such webhook endpoint. List them with list-webhooks.')

function validateUrl(ctx: ApiContext, url: string): Refusal | null {
  const problem = validateTargetUrl(url, ctx.config.allowPrivateTargets)
  return problem === null ? null : invalid([{ path: 'url', message: problem }])
}

/** The endpoint, or null if it does not exist in this workspace. */
export function findOwnEndpoint(ctx: ApiContext, workspaceId: string, id: string): Promise<Endpoint | null> {
  return isUuid(id) ? findEndpoint(ctx.db, workspaceId, id) : Promise.resolve(null)
}

async function respondWithEndpoint(ctx: ApiContext, workspaceId: string, id: string): Promise<ApiResponse | Refusal> {
  const endpoint = await findOwnEndpoint(ctx, workspaceId, id)
  return endpoint === null
    ? NO_ENDPOINT
    : { body: { success: true, message: 'Webhook endpoint found.', data: presentEndpoint(endpoint) } }
}

async function changeEndpoint(
  ctx: ApiContext,
  workspaceId: string,
  id: string,
  fields: EndpointChange,
): Promise<ApiResponse | Refusal> {
  const refusal = fields.url === undefined ? null : validateUrl(ctx, fields.url)
  if (refusal !== null) return refusal
  const endpoint = isUuid(id) ? await updateEndpoint(ctx, workspaceId, id, fields) : null
  return endpoint === null
    ? NO_ENDPOINT
    : { body: { success: true, message: 'Webhook endpoint updated.', data: presentEndpoint(endpoint) } }
}

async function removeEndpoint(ctx: ApiContext, workspaceId: string, id: string): Promise<ApiResponse | Refusal> {
  return isUuid(id) && (await deleteEndpoint(ctx, workspaceId, id)) ? {} : NO_ENDPOINT
}

function presentEndpoint(endpoint: Endpoint): Record<string, unknown> {
  return {
    id: endpoint.id,
    object: 'webhook',
    url: endpoint.url,
    description: endpoint.description,
    events: endpoint.eventTypes,
    event_types: endpoint.eventTypes,
    is_active: endpoint.isActive,
    disabled_reason: endpoint.disabledReason,
    previous_secret_until: endpoint.previousUntil?.toISOString() ?? null,
    created_at: endpoint.createdAt.toISOString(),
    updated_at: endpoint.updatedAt.toISOString(),
  }
}
