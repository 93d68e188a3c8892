/**
 * GET /public/events: the events of the workspace after a cursor, in order and without gaps; with `wait`, as soon
 * as one happens. Each event has the payload of a webhook. A reader that stores `next` and continues from it gets
 * every event exactly once.
 *
 * A waiting request does not query PostgreSQL until Redis notifies it of an event of its workspace. While Redis is
 * unavailable it polls every two seconds; while an older transaction holds an event back, more often. It ends when
 * the client disconnects or the process stops. A key that was revoked in the meantime gets no event: it is checked
 * again before the response.
 */
import { z } from 'zod'
import { invalid, rateLimited } from '#src/platform/errors.ts'
import { FEED_START, readCursor, writeCursor } from '#src/events/cursor.ts'
import { readFeed, type FeedQuery, type FeedPage } from '#src/events/feed.ts'
import type { EventWaiter } from '#src/events/feed-watch.ts'
import { messageIdOf } from '#src/platform/id.ts'
import { readEventSelection } from '#src/webhooks/event-selection.ts'
import { ALL_TYPES } from '#src/events/catalogue.ts'
import { payloadObject } from '#src/events/reported-event.ts'
import { refuseAfterWait } from '#api/http/authorise.ts'
import type { ApiContext } from '#api/http/context.ts'
import { openPage, type ListPage } from '#api/http/list-cursor.ts'
import { nextCursor, paging } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { route } from '#api/http/route.ts'
import { envelope, nextCursorField, timestamp } from '#api/http/response-schemas.ts'
import { time } from '#api/http/time-fields.ts'
import { countText } from '#src/platform/plural.ts'

const MAX_WAIT_SECONDS = 30
const POLL_WITHOUT_REDIS_MS = 2000
const MIN_HELD_POLL_MS = 20
const MAX_HELD_POLL_MS = 1000

const cursorField = z
  .string()
  .max(100, 'is not a valid cursor')
  .transform((text, sink) => {
    const position = readCursor(text)
    if (position === null)
      sink.addIssue({
        code: 'custom',
        message: 'is not a valid cursor: use `next` of an earlier response, or the id of an event',
      })
    return position ?? z.NEVER
  })
const typesField = z
  .string()
  .max(2000, 'is too long')
  .transform((text, sink) => {
    const read = readEventSelection(text)
    if (!read.ok) sink.addIssue({ code: 'custom', message: read.reason })
    return read.ok ? read.types : z.NEVER
  })
const emailIdField = z.string().transform((text, sink) => {
  const id = messageIdOf(text)
  if (id === null) sink.addIssue({ code: 'custom', message: 'is not the id of an email' })
  return id ?? z.NEVER
})
const waitField = z
  .string()
  .regex(/^\d{1,3}(?:\.\d{1,3})?$/, 'must be a number of seconds')
  .transform(Number)
  .pipe(z.number().max(MAX_WAIT_SECONDS, `at most ${MAX_WAIT_SECONDS}`))
  .default(0)
  .meta({ type: 'number', minimum: 0, maximum: MAX_WAIT_SECONDS, default: 0 })
const aliasOf = (name: string): { description: string } => ({ description: `alias of ${name}` })

const eventsQuery = z.object({
  after: cursorField.optional().meta({
    description:
      '`next` of an earlier response, or the id of an event (`evt_…`); by default from the oldest stored event',
  }),
  cursor: paging.shape.cursor,
  limit: paging.shape.limit,
  type: typesField.optional().meta({ description: 'event types, separated by commas' }),
  types: typesField.optional().meta(aliasOf('type')),
  email_id: emailIdField.optional(),
  message_id: emailIdField.optional().meta(aliasOf('email_id')),
  recipient: z.string().max(254, 'is too long').optional(),
  from: time.optional().meta({ description: 'events at or after this time' }),
  to: time.optional().meta({ description: 'events before this time' }),
  wait: waitField.meta({ description: 'seconds to wait for an event if there is none yet' }),
})

const nullableText = z.string().nullable()
const eventSchema = z
  .looseObject({
    id: z.string(),
    type: z.string(),
    event: z.string(),
    timestamp: timestamp,
    workspace_id: z.uuid(),
    email_id: nullableText,
    message_id: nullableText,
    recipient: nullableText,
    to: z.array(z.string()).nullable(),
    subject: nullableText,
    sequence: z.int().nullable(),
    metadata: z.record(z.string(), z.unknown()),
    data: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'Event', description: 'the payload of a webhook; some types have more fields' })

export const listEvents = route({
  name: 'list-events',
  summary: 'List events after a cursor',
  description:
    'The response has the events after `after` in order, and `next`, the cursor after the last of them. With `wait`, ' +
    'an empty response is delayed until an event occurs. With a filter, a response may be empty and have `has_more`: ' +
    'continue with its `next`.',
  method: 'GET',
  paths: ['/public/events'],
  access: 'any',
  query: eventsQuery,
  status: 200,
  errors: ['VALIDATION_ERROR', 'RATE_LIMITED'],
  response: envelope(
    z.object({ events: z.array(eventSchema), next: z.string(), has_more: z.boolean(), ...nextCursorField }),
  ),
  handle: async (ctx, request) => {
    const { wait: _, ...filter } = request.query
    const opened = openPage(ctx, 'list-events', { ...request, query: filter }, (text) =>
      readCursor(text) === null ? null : text,
    )
    if (isRefusal(opened)) return opened
    const order = feedOrderOf(request.caller.workspaceId, request.query, opened)
    const page = await readFeed(ctx.db, order)
    if (page === null) return invalid([{ path: 'after', message: 'there is no such event' }])
    const waiter =
      isEmpty(page) && request.query.wait > 0
        ? ctx.eventWatch.open(order.workspaceId, request.closeSignal())
        : undefined
    if (waiter === null)
      return rateLimited('open_requests', 'Too many requests of this workspace are waiting for events.', 1)
    const until = performance.now() + request.query.wait * 1000
    const found = waiter === undefined ? page : await awaitEvents(ctx, order, { waiter, until, page })
    const refusal = waiter === undefined || isEmpty(found) ? null : await refuseAfterWait(ctx, 'list-events', request)
    if (refusal !== null) return refusal
    const next = writeCursor(found.next)
    const position = found.hasMore ? { key: [next], before: 0, total: 0 } : null
    const data = {
      events: found.events.map(payloadObject),
      next,
      has_more: found.hasMore,
      ...nextCursor(position, opened),
    }
    return { body: { success: true, message: `${countText(found.events.length, 'event')}.`, data } }
  },
})

function feedOrderOf(workspaceId: string, given: z.output<typeof eventsQuery>, { at }: ListPage): FeedQuery {
  const [cursor] = at?.key ?? []
  const types = given.type ?? given.types ?? null
  return {
    workspaceId,
    // a client repeats `after` with the cursor: it is the start of the first page only
    after: (cursor === undefined ? null : readCursor(cursor)) ?? given.after ?? FEED_START,
    limit: given.limit,
    filter: {
      types: types?.includes(ALL_TYPES) === true ? null : types,
      messageId: given.email_id ?? given.message_id ?? null,
      recipient: given.recipient ?? null,
      from: given.from ?? null,
      to: given.to ?? null,
    },
  }
}

function isEmpty(page: FeedPage): boolean {
  return page.events.length === 0 && !page.hasMore
}

interface EventWait {
  readonly waiter: EventWaiter
  /** By performance.now(). */
  readonly until: number
  readonly page: FeedPage
}

/**
 * Reads the feed after each notification until it has events or the time is over. The subscription begins before the
 * first read, so that no event is missed.
 */
async function awaitEvents(ctx: ApiContext, order: FeedQuery, { waiter, until, page }: EventWait): Promise<FeedPage> {
  let found = page
  let heldPollMs = MIN_HELD_POLL_MS
  try {
    for (;;) {
      found = (await readFeed(ctx.db, { ...order, after: found.next })) ?? found
      const leftMs = until - performance.now()
      if (!isEmpty(found) || waiter.isOver || leftMs <= 0) return found
      heldPollMs = found.isHeldBack ? Math.min(MAX_HELD_POLL_MS, heldPollMs * 2) : MIN_HELD_POLL_MS
      await waiter.pause(
        Math.min(
          leftMs,
          found.isHeldBack ? heldPollMs : ctx.eventWatch.isDisconnected ? POLL_WITHOUT_REDIS_MS : Infinity,
        ),
      )
    }
  } finally {
    waiter.close()
  }
}
