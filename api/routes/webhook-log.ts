/** The delivery log of a webhook endpoint with every attempt, the replay of an event, and a test event. */
import { z } from 'zod'
import { refuse } from '#src/platform/errors.ts'
import {
  DELIVERY_STATES,
  eventIdOf,
  listDeliveries,
  replayDelivery,
  type WebhookAttemptView,
  type DeliveryView,
} from '#src/webhooks/delivery-log.ts'
import type { Endpoint } from '#src/webhooks/endpoints.ts'
import { EVENT_TYPE_NAMES, isEventType } from '#src/events/catalogue.ts'
import { eventName } from '#src/events/reported-event.ts'
import { testEventTypeOf, sendTestEvent } from '#src/webhooks/test-event.ts'
import { mapPage } from '#src/stores/page.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { pageData, paging } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { envelope, timestamp, pagedList } from '#api/http/response-schemas.ts'
import { countText } from '#src/platform/plural.ts'
import { ACCESS, byPath, findOwnEndpoint, NO_ENDPOINT } from './webhooks.ts'
import { oneOfText } from '#src/platform/choice-text.ts'

const ENDPOINT_DISABLED = refuse('CONFLICT', 'The webhook endpoint is disabled. Enable it first (is_active: true).')
const NO_DELIVERY = refuse(
  'NOT_FOUND',
  'This endpoint has no delivery of this event. List them with list-webhook-deliveries.',
)

const stateFilter = z.enum(DELIVERY_STATES).optional()
const eventIdFilter = z
  .string()
  .optional()
  .transform((text, sink) => {
    const id = text === undefined ? null : eventIdOf(text)
    if (text !== undefined && id === null) sink.addIssue({ code: 'custom', message: 'must be evt_… or a UUID' })
    return id
  })

const deliveryState = z.enum(DELIVERY_STATES)
const attemptSchema = z
  .object({
    attempt: z.int(),
    at: timestamp,
    url: z.string(),
    status: z.int().nullable(),
    error: z.string().nullable(),
    duration_ms: z.number(),
    request: z.object({ headers: z.record(z.string(), z.string()), body: z.string() }),
    response: z
      .object({ status: z.int(), body: z.string().nullable().meta({ description: 'the first 4 KB' }) })
      .nullable(),
  })
  .meta({ id: 'WebhookAttempt' })
const deliverySchema = z
  .object({
    id: z.string(),
    event_id: z.string(),
    type: z.string().nullable().meta({ description: 'null if the event is no longer stored' }),
    event: z.string().nullable(),
    state: deliveryState,
    status: deliveryState,
    tries: z.int(),
    created_at: timestamp,
    next_try_at: timestamp.nullable(),
    attempts: z.array(attemptSchema),
  })
  .meta({ id: 'WebhookDelivery' })
const queuedFields = {
  id: z.string(),
  event_id: z.string(),
  webhook_id: z.uuid(),
  state: z.literal('pending'),
  status: z.literal('pending'),
}

const listDeliveriesRoute = route({
  name: 'list-webhook-deliveries',
  summary:
    'List the deliveries of a webhook endpoint, newest first, with every attempt: request, response, error, duration',
  method: 'GET',
  paths: ['/public/webhooks/:id/deliveries'],
  access: ACCESS,
  params: byPath,
  query: paging.extend({ state: stateFilter, status: stateFilter, event_id: eventIdFilter }),
  status: 200,
  response: pagedList('deliveries', deliverySchema),
  errors: ['NOT_FOUND'],
  handle: async (ctx, request) => {
    const { caller, params, query } = request
    const page = openPage(ctx, 'list-webhook-deliveries', request)
    if (isRefusal(page)) return page
    const endpoint = await findOwnEndpoint(ctx, caller.workspaceId, params.id)
    if (endpoint === null) return NO_ENDPOINT
    const filter = { ...page, state: query.state ?? query.status ?? null, eventId: query.event_id }
    const found = await listDeliveries(ctx.db, endpoint, filter)
    const data = pageData('deliveries', mapPage(found, presentDelivery), page)
    return { body: { success: true, message: `${countText(found.total, 'delivery', 'deliveries')}.`, data } }
  },
})

const replay = route({
  name: 'replay-webhook-delivery',
  summary: 'Send an event to this endpoint again, immediately and with a new series of attempts',
  method: 'POST',
  paths: ['/public/webhooks/:id/deliveries/:eventId/replay'],
  access: ACCESS,
  params: byPath.extend({ eventId: z.string() }),
  status: 200,
  response: envelope(z.object(queuedFields)),
  errors: ['NOT_FOUND', 'CONFLICT'],
  handle: async (ctx, { caller, params }) => {
    const endpoint = await findOwnEndpoint(ctx, caller.workspaceId, params.id)
    if (endpoint === null) return NO_ENDPOINT
    const id = eventIdOf(params.eventId)
    const result = id === null ? 'not-found' : await replayDelivery(ctx, endpoint, id)
    if (result === 'switched-off') return ENDPOINT_DISABLED
    if (id === null || result === 'not-found') return NO_DELIVERY
    return { body: { success: true, message: 'The event is queued again.', data: presentQueued(id, endpoint) } }
  },
})

const testBody = z
  .object({
    type: z.string().nullish(),
    event: z.string().nullish().meta({ description: 'alias of type' }),
  })
  .transform((given, sink) => {
    const type = given.type ?? given.event ?? null
    if (type === null || isEventType(type)) return { type }
    sink.addIssue({ code: 'custom', path: ['type'], message: oneOfText(EVENT_TYPE_NAMES, type) })
    return z.NEVER
  })

const testRoute = route({
  name: 'test-webhook',
  summary: 'Send a test event to this endpoint, of the given type or of its first one',
  method: 'POST',
  paths: ['/public/webhooks/:id/test'],
  access: ACCESS,
  params: byPath,
  body: testBody,
  status: 200,
  response: envelope(z.object({ ...queuedFields, type: z.string() })),
  errors: ['NOT_FOUND', 'CONFLICT'],
  handle: async (ctx, { caller, params, body }) => {
    const endpoint = await findOwnEndpoint(ctx, caller.workspaceId, params.id)
    if (endpoint === null) return NO_ENDPOINT
    const type = body.type ?? testEventTypeOf(endpoint)
    const id = await sendTestEvent(ctx, caller.workspaceId, endpoint, type)
    if (id === null) return ENDPOINT_DISABLED
    const data = { ...presentQueued(id, endpoint), type }
    return { body: { success: true, message: 'A test event is queued.', data } }
  },
})

export const WEBHOOK_LOG_ROUTES: readonly AnyRoute[] = [listDeliveriesRoute, replay, testRoute]

function presentQueued(id: string, endpoint: Endpoint): Record<string, unknown> {
  const name = eventName(id)
  return { id: name, event_id: name, webhook_id: endpoint.id, state: 'pending', status: 'pending' }
}

function presentDelivery(delivery: DeliveryView): Record<string, unknown> {
  return {
    id: eventName(delivery.eventId),
    event_id: eventName(delivery.eventId),
    type: delivery.type,
    event: delivery.type,
    state: delivery.state,
    status: delivery.state,
    tries: delivery.tries,
    created_at: delivery.createdAt.toISOString(),
    next_try_at: delivery.nextTryAt?.toISOString() ?? null,
    attempts: delivery.attempts.map(presentAttempt),
  }
}

function presentAttempt(attempt: WebhookAttemptView): Record<string, unknown> {
  return {
    attempt: attempt.attempt,
    at: attempt.at.toISOString(),
    url: attempt.url,
    status: attempt.status,
    error: attempt.error,
    duration_ms: attempt.durationMs,
    request: { headers: attempt.requestHeaders, body: attempt.requestBody },
    response: attempt.status === null ? null : { status: attempt.status, body: attempt.responseBody },
  }
}
