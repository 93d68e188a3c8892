/**
 * Webhook endpoints of a workspace: registered, listed, changed, deleted, their secret rotated. The secret is in the answer of creation and
 * rotation and nowhere else. An endpoint is named in the path or by `?id=`; another workspace's is not there. What it received is
 * `webhook-log.ts`.
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
import { readSelection } from '#src/webhooks/event-selection.ts'
import { ALL_TYPES, EVENT_TYPE_NAMES } from '#src/events/catalogue.ts'
import { judgeTarget } from '#src/webhooks/target-url.ts'
import type { ApiContext } from '#api/http/context.ts'
import { pageData, paging } from '#api/http/paging.ts'
import { route, type Answer, type AnyRoute } from '#api/http/route.ts'
import { enveloped, moment, pageOf } from '#api/http/answer-shapes.ts'

export const ACCESS = { admin: 'webhooks:manage' } as const
export const byPath = z.object({ id: z.string() })
const byQuery = z.object({ id: z.string({ error: 'is required' }) })
const MAX_DESCRIPTION = 500

const address = z.string().trim().nullish()
const listed = z.array(z.string()).max(100, 'at most 100 types')
const named = z.union([z.string(), listed], 'must be a list of event types, or a text with commas')
const selection = named
  .nullish()
  .meta({ description: `${EVENT_TYPE_NAMES.join(', ')}; * or nothing for all` })
  .transform((given, sink) => {
    if (given === null || given === undefined) return null
    const read = readSelection(given)
    if (!read.ok) sink.addIssue({ code: 'custom', message: read.reason })
    return read.ok ? read.types : z.NEVER
  })
const aliasOf = (name: string): { description: string } => ({ description: `alias of ${name}` })

const fields = z.object({
  url: address,
  endpoint: address.meta(aliasOf('url')),
  events: selection,
  event_types: selection.meta(aliasOf('events')),
  types: selection.meta(aliasOf('events')),
  description: z.string().max(MAX_DESCRIPTION, `at most ${MAX_DESCRIPTION} characters`).nullish(),
  is_active: z.boolean().nullish(),
  active: z.boolean().nullish().meta(aliasOf('is_active')),
  enabled: z.boolean().nullish().meta(aliasOf('is_active')),
})

const changeBody = fields.transform((given): EndpointChange => ({
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

const shown = z
  .object({
    id: z.uuid(),
    object: z.literal('webhook'),
    url: z.string(),
    description: z.string().nullable(),
    events: z.array(z.string()).meta({ description: 'types, or * for all' }),
    event_types: z.array(z.string()),
    is_active: z.boolean(),
    disabled_reason: z.string().nullable().meta({ description: 'why it is switched off' }),
    previous_secret_until: moment
      .nullable()
      .meta({ description: 'until when the secret before the last rotation signs too' }),
    created_at: moment,
    updated_at: moment,
  })
  .meta({ id: 'Webhook' })
const one = enveloped(shown).meta({ id: 'WebhookAnswer' })
const secret = z.string().meta({ description: 'whsec_…, shown this once' })
const withSecret = enveloped(shown.extend({ secret })).meta({ id: 'WebhookSecret' })

const create = route({
  name: 'create-webhook',
  summary: 'Register a webhook endpoint; the answer has its signing secret, once',
  method: 'POST',
  paths: ['/public/webhooks'],
  access: ACCESS,
  body: createBody,
  status: 201,
  answer: withSecret,
  errors: ['CONFLICT'],
  handle: async (ctx, { caller, body }) => {
    const wrong = judgeUrl(ctx, body.url)
    if (wrong !== null) return wrong
    const made = await createEndpoint(ctx, caller.workspaceId, body)
    if (made === null) return refuse('CONFLICT', `A workspace has at most ${MAX_ENDPOINTS} webhook endpoints.`)
    const data = { ...present(made.endpoint), secret: made.secret }
    return {
      body: { success: true, message: 'Webhook endpoint created. Keep the secret: it is not shown again.', data },
    }
  },
})

const list = route({
  name: 'list-webhooks',
  summary: 'The webhook endpoints of the workspace, the newest first; one of them with ?id=',
  method: 'GET',
  paths: ['/public/webhooks'],
  access: ACCESS,
  query: paging.extend({ id: z.string().optional() }),
  status: 200,
  answer: z.union([pageOf('webhooks', shown), one]),
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, query }) => {
    if (query.id !== undefined) return show(ctx, caller.workspaceId, query.id)
    const { items, total } = await listEndpoints(ctx.db, caller.workspaceId, query)
    const data = pageData('webhooks', { items: items.map(present), total }, query)
    return { body: { success: true, message: `${total} webhook endpoints.`, data } }
  },
})

const get = route({
  name: 'get-webhook',
  summary: 'One webhook endpoint',
  method: 'GET',
  paths: ['/public/webhooks/:id'],
  access: ACCESS,
  params: byPath,
  status: 200,
  answer: one,
  errors: ['NOT_FOUND'],
  handle: (ctx, { caller, params }) => show(ctx, caller.workspaceId, params.id),
})

const UPDATE = {
  summary: 'Change address, event types, description, or switch it on or off; what is left out stays',
  method: 'PATCH',
  access: ACCESS,
  body: changeBody,
  status: 200,
  answer: one,
  errors: ['NOT_FOUND'],
} as const
const update = route({
  ...UPDATE,
  name: 'update-webhook',
  paths: ['/public/webhooks/:id'],
  params: byPath,
  handle: (ctx, { caller, params, body }) => change(ctx, caller.workspaceId, params.id, body),
})
const updateByQuery = route({
  ...UPDATE,
  name: 'update-webhook-by-query',
  paths: ['/public/webhooks'],
  query: byQuery,
  handle: (ctx, { caller, query, body }) => change(ctx, caller.workspaceId, query.id, body),
})

const REMOVE = {
  summary: 'Delete a webhook endpoint; what waits for it is not sent',
  method: 'DELETE',
  access: ACCESS,
  status: 204,
  errors: ['NOT_FOUND'],
} as const
const remove = route({
  ...REMOVE,
  name: 'delete-webhook',
  paths: ['/public/webhooks/:id'],
  params: byPath,
  handle: (ctx, { caller, params }) => drop(ctx, caller.workspaceId, params.id),
})
const removeByQuery = route({
  ...REMOVE,
  name: 'delete-webhook-by-query',
  paths: ['/public/webhooks'],
  query: byQuery,
  handle: (ctx, { caller, query }) => drop(ctx, caller.workspaceId, query.id),
})

const rotate = route({
  name: 'rotate-webhook-secret',
  summary: 'Make a new signing secret; the one before signs too for 24 hours',
  method: 'POST',
  paths: ['/public/webhooks/:id/rotate-secret'],
  access: ACCESS,
  params: byPath,
  status: 200,
  answer: withSecret,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const rotated = isUuid(params.id) ? await rotateSecret(ctx, caller.workspaceId, params.id) : null
    if (rotated === null) return NO_ENDPOINT
    const data = { ...present(rotated.endpoint), secret: rotated.secret }
    return { body: { success: true, message: 'Secret rotated. Keep the new one: it is not shown again.', data } }
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

export const NO_ENDPOINT = refuse('NOT_FOUND', 'There is no such webhook endpoint.')

function judgeUrl(ctx: ApiContext, url: string): Refusal | null {
  const wrong = judgeTarget(url, ctx.config.allowPrivateTargets)
  return wrong === null ? null : invalid([{ path: 'url', message: wrong }])
}

/** The endpoint, if it is the workspace's own. */
export function endpointOf(ctx: ApiContext, workspaceId: string, id: string): Promise<Endpoint | null> {
  return isUuid(id) ? findEndpoint(ctx.db, workspaceId, id) : Promise.resolve(null)
}

async function show(ctx: ApiContext, workspaceId: string, id: string): Promise<Answer | Refusal> {
  const endpoint = await endpointOf(ctx, workspaceId, id)
  return endpoint === null
    ? NO_ENDPOINT
    : { body: { success: true, message: 'Webhook endpoint found.', data: present(endpoint) } }
}

async function change(
  ctx: ApiContext,
  workspaceId: string,
  id: string,
  wanted: EndpointChange,
): Promise<Answer | Refusal> {
  const wrong = wanted.url === undefined ? null : judgeUrl(ctx, wanted.url)
  if (wrong !== null) return wrong
  const endpoint = isUuid(id) ? await updateEndpoint(ctx, workspaceId, id, wanted) : null
  return endpoint === null
    ? NO_ENDPOINT
    : { body: { success: true, message: 'Webhook endpoint changed.', data: present(endpoint) } }
}

async function drop(ctx: ApiContext, workspaceId: string, id: string): Promise<Answer | Refusal> {
  return isUuid(id) && (await deleteEndpoint(ctx, workspaceId, id)) ? {} : NO_ENDPOINT
}

function present(endpoint: Endpoint): Record<string, unknown> {
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
