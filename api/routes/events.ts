/**
 * GET /public/events: what happened in the workspace, in an order without gaps, from a cursor on; with `wait`, as soon as it happens.
 * Each event is what a webhook would have been sent. A reader that keeps `next` and asks again misses nothing and gets nothing twice.
 *
 * Waiting costs no look at PostgreSQL until Redis tells of an event of this workspace; while Redis is away it looks every two seconds, and
 * while an older transaction holds an event back, more often. It ends when the client goes away or the process stops.
 */
import { z } from 'zod'
import { invalid, refuse } from '#src/platform/errors.ts'
import { BEGINNING, readCursor, writeCursor } from '#src/events/cursor.ts'
import { readFeed, type FeedOrder, type FeedPage } from '#src/events/feed.ts'
import type { Waiter } from '#src/events/feed-watch.ts'
import { messageIdOf } from '#src/platform/id.ts'
import { readSelection } from '#src/webhooks/event-selection.ts'
import { ALL_TYPES } from '#src/events/catalogue.ts'
import { payloadObject } from '#src/webhooks/payload.ts'
import type { ApiContext } from '#api/http/context.ts'
import { paging } from '#api/http/paging.ts'
import { route } from '#api/http/route.ts'
import { enveloped, moment } from '#api/http/answer-shapes.ts'
import { time } from '#api/http/time-fields.ts'

const MAX_WAIT = 30
const DEAF_LOOK_MS = 2000
const FIRST_HELD_LOOK_MS = 20
const LONGEST_HELD_LOOK_MS = 1000

const cursor = z
  .string()
  .max(100, 'is no cursor')
  .transform((text, sink) => {
    const read = readCursor(text)
    if (read === null)
      sink.addIssue({ code: 'custom', message: 'is no cursor: use `next` of an earlier answer, or the id of an event' })
    return read ?? z.NEVER
  })
const types = z
  .string()
  .max(2000, 'is too long')
  .transform((text, sink) => {
    const read = readSelection(text)
    if (!read.ok) sink.addIssue({ code: 'custom', message: read.reason })
    return read.ok ? read.types : z.NEVER
  })
const messageId = z.string().transform((text, sink) => {
  const id = messageIdOf(text)
  if (id === null) sink.addIssue({ code: 'custom', message: 'is no id of an email' })
  return id ?? z.NEVER
})
const seconds = z
  .string()
  .regex(/^\d{1,3}(?:\.\d{1,3})?$/, 'must be a number of seconds')
  .transform(Number)
  .pipe(z.number().max(MAX_WAIT, `at most ${MAX_WAIT}`))
  .default(0)
  .meta({ type: 'number', minimum: 0, maximum: MAX_WAIT, default: 0 })
const aliasOf = (name: string): { description: string } => ({ description: `alias of ${name}` })

const query = z.object({
  after: cursor.optional().meta({
    description: '`next` of an earlier answer, or the id of an event (`evt_…`); from the oldest kept on when left out',
  }),
  cursor: cursor.optional().meta(aliasOf('after')),
  limit: paging.shape.limit,
  type: types.optional().meta({ description: 'event types with commas' }),
  types: types.optional().meta(aliasOf('type')),
  email_id: messageId.optional(),
  message_id: messageId.optional().meta(aliasOf('email_id')),
  recipient: z.string().max(254, 'is too long').optional(),
  from: time.optional().meta({ description: 'events since then' }),
  to: time.optional().meta({ description: 'events before then' }),
  wait: seconds.meta({ description: 'seconds to wait for an event where there is none yet' }),
})

const text = z.string().nullable()
const eventShape = z
  .looseObject({
    id: z.string(),
    type: z.string(),
    event: z.string(),
    timestamp: moment,
    workspace_id: z.uuid(),
    email_id: text,
    message_id: text,
    recipient: text,
    to: z.array(z.string()).nullable(),
    subject: text,
    sequence: z.int().nullable(),
    metadata: z.record(z.string(), z.unknown()),
    data: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'Event', description: 'what a webhook gets; fields of some types stand beside these' })

export const listEvents = route({
  name: 'list-events',
  summary: 'What happened, from a cursor on',
  description:
    'The answer has the events behind `after` in their order, and `next`, the cursor behind the last of them. With `wait`, an ' +
    'answer that would be empty comes as soon as something happens. A filter may make an answer empty that has `has_more`: ask on with ' +
    'its `next`.',
  method: 'GET',
  paths: ['/public/events'],
  access: 'any',
  query,
  status: 200,
  errors: ['VALIDATION_ERROR', 'RATE_LIMITED'],
  answer: enveloped(z.object({ events: z.array(eventShape), next: z.string(), has_more: z.boolean() })),
  handle: async (ctx, request) => {
    const order = orderOf(request.caller.workspaceId, request.query)
    const page = await readFeed(ctx.db, order)
    if (page === null) return invalid([{ path: 'after', message: 'there is no such event' }])
    const waiter =
      isEmpty(page) && request.query.wait > 0 ? ctx.eventWatch.open(order.workspaceId, request.gone) : undefined
    if (waiter === null) return refuse('RATE_LIMITED', 'Too many requests of this workspace wait for events.', 1)
    const until = performance.now() + request.query.wait * 1000
    const found = waiter === undefined ? page : await awaitEvents(ctx, order, { waiter, until, page })
    const data = { events: found.events.map(payloadObject), next: writeCursor(found.next), has_more: found.hasMore }
    return { body: { success: true, message: `${found.events.length} events.`, data } }
  },
})

function orderOf(workspaceId: string, given: z.output<typeof query>): FeedOrder {
  const wanted = given.type ?? given.types ?? null
  return {
    workspaceId,
    after: given.after ?? given.cursor ?? BEGINNING,
    limit: given.limit,
    filter: {
      types: wanted?.includes(ALL_TYPES) === true ? null : wanted,
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

interface Waiting {
  readonly waiter: Waiter
  /** By performance.now(). */
  readonly until: number
  readonly page: FeedPage
}

/** Looks again on news until there is something, or the time is over. The first look comes after the ear is open: nothing falls between. */
async function awaitEvents(ctx: ApiContext, order: FeedOrder, { waiter, until, page }: Waiting): Promise<FeedPage> {
  let found = page
  let heldLookMs = FIRST_HELD_LOOK_MS
  try {
    for (;;) {
      found = (await readFeed(ctx.db, { ...order, after: found.next })) ?? found
      const leftMs = until - performance.now()
      if (!isEmpty(found) || waiter.isOver || leftMs <= 0) return found
      heldLookMs = found.isHeldBack ? Math.min(LONGEST_HELD_LOOK_MS, heldLookMs * 2) : FIRST_HELD_LOOK_MS
      await waiter.pause(
        Math.min(leftMs, found.isHeldBack ? heldLookMs : ctx.eventWatch.isDeaf ? DEAF_LOOK_MS : Infinity),
      )
    }
  } finally {
    waiter.close()
  }
}
