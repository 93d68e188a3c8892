/** What a webhook endpoint received: the log with every try, an event sent again, and a test event. */
import { z } from 'zod'
import { refuse } from '#src/platform/errors.ts'
import {
  DELIVERY_STATES,
  eventIdOf,
  listDeliveries,
  replayDelivery,
  type AttemptView,
  type DeliveryView,
} from '#src/webhooks/delivery-log.ts'
import type { Endpoint } from '#src/webhooks/endpoints.ts'
import { EVENT_TYPE_NAMES, isEventType } from '#src/events/catalogue.ts'
import { eventName } from '#src/webhooks/payload.ts'
import { sampleTypeOf, sendSample } from '#src/webhooks/test-event.ts'
import { pageData, paging } from '#api/http/paging.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { enveloped, moment, pageOf } from '#api/http/answer-shapes.ts'
import { ACCESS, byPath, endpointOf, NO_ENDPOINT } from './webhooks.ts'

const SWITCHED_OFF = refuse('CONFLICT', 'The webhook endpoint is switched off. Switch it on first (is_active: true).')
const NO_DELIVERY = refuse('NOT_FOUND', 'This event was never due for this webhook endpoint.')

const state = z.enum(DELIVERY_STATES, `must be one of ${DELIVERY_STATES.join(', ')}`).optional()
const eventId = z
  .string()
  .optional()
  .transform((text, sink) => {
    const id = text === undefined ? null : eventIdOf(text)
    if (text !== undefined && id === null) sink.addIssue({ code: 'custom', message: 'must be evt_… or its uuid' })
    return id
  })

const shownState = z.enum(DELIVERY_STATES)
const shownAttempt = z
  .object({
    attempt: z.int(),
    at: moment,
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
const shownDelivery = z
  .object({
    id: z.string(),
    event_id: z.string(),
    type: z.string().nullable().meta({ description: 'null when the event is no longer stored' }),
    event: z.string().nullable(),
    state: shownState,
    status: shownState,
    tries: z.int(),
    created_at: moment,
    next_try_at: moment.nullable(),
    attempts: z.array(shownAttempt),
  })
  .meta({ id: 'WebhookDelivery' })
const queuedShape = {
  id: z.string(),
  event_id: z.string(),
  webhook_id: z.uuid(),
  state: z.literal('pending'),
  status: z.literal('pending'),
}

const log = route({
  name: 'list-webhook-deliveries',
  summary:
    'What became of each event at this endpoint, with every try: request, answer, error, duration; the newest first',
  method: 'GET',
  paths: ['/public/webhooks/:id/deliveries'],
  access: ACCESS,
  params: byPath,
  query: paging.extend({ state, status: state, event_id: eventId }),
  status: 200,
  answer: pageOf('deliveries', shownDelivery),
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params, query }) => {
    const endpoint = await endpointOf(ctx, caller.workspaceId, params.id)
    if (endpoint === null) return NO_ENDPOINT
    const filter = { ...query, state: query.state ?? query.status ?? null, eventId: query.event_id }
    const { deliveries, total } = await listDeliveries(ctx.db, endpoint, filter)
    const data = pageData('deliveries', { items: deliveries.map(present), total }, query)
    return { body: { success: true, message: `${total} deliveries.`, data } }
  },
})

const replay = route({
  name: 'replay-webhook-delivery',
  summary: 'Send an event to this endpoint again, at once and with all its tries',
  method: 'POST',
  paths: ['/public/webhooks/:id/deliveries/:eventId/replay'],
  access: ACCESS,
  params: byPath.extend({ eventId: z.string() }),
  status: 200,
  answer: enveloped(z.object(queuedShape)),
  errors: ['NOT_FOUND', 'CONFLICT'],
  handle: async (ctx, { caller, params }) => {
    const endpoint = await endpointOf(ctx, caller.workspaceId, params.id)
    if (endpoint === null) return NO_ENDPOINT
    const id = eventIdOf(params.eventId)
    const result = id === null ? 'not-found' : await replayDelivery(ctx, endpoint, id)
    if (result === 'switched-off') return SWITCHED_OFF
    if (id === null || result === 'not-found') return NO_DELIVERY
    return { body: { success: true, message: 'The event is queued again.', data: queued(id, endpoint) } }
  },
})

const sampleBody = z
  .object({
    type: z.string().nullish(),
    event: z.string().nullish().meta({ description: 'alias of type' }),
  })
  .transform((given, sink) => {
    const type = given.type ?? given.event ?? null
    if (type === null || isEventType(type)) return { type }
    sink.addIssue({ code: 'custom', path: ['type'], message: `must be one of ${EVENT_TYPE_NAMES.join(', ')}` })
    return z.NEVER
  })

const sample = route({
  name: 'test-webhook',
  summary: 'Send a made-up event to this endpoint, of the type given or of its first one',
  method: 'POST',
  paths: ['/public/webhooks/:id/test'],
  access: ACCESS,
  params: byPath,
  body: sampleBody,
  status: 200,
  answer: enveloped(z.object({ ...queuedShape, type: z.string() })),
  errors: ['NOT_FOUND', 'CONFLICT'],
  handle: async (ctx, { caller, params, body }) => {
    const endpoint = await endpointOf(ctx, caller.workspaceId, params.id)
    if (endpoint === null) return NO_ENDPOINT
    const type = body.type ?? sampleTypeOf(endpoint)
    const id = await sendSample(ctx, caller.workspaceId, endpoint, type)
    if (id === null) return SWITCHED_OFF
    const data = { ...queued(id, endpoint), type }
    return { body: { success: true, message: 'A test event is queued.', data } }
  },
})

export const WEBHOOK_LOG_ROUTES: readonly AnyRoute[] = [log, replay, sample]

function queued(id: string, endpoint: Endpoint): Record<string, unknown> {
  const name = eventName(id)
  return { id: name, event_id: name, webhook_id: endpoint.id, state: 'pending', status: 'pending' }
}

function present(delivery: DeliveryView): Record<string, unknown> {
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

function presentAttempt(attempt: AttemptView): Record<string, unknown> {
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
