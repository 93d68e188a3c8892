/** Sending later: POST /send-email/schedule, the list of what waits, and taking one back before its time. */
import { z } from 'zod'
import { refuse } from '#src/platform/errors.ts'
import { messageIdOf } from '#src/platform/id.ts'
import { cancelScheduled, listScheduled, type ScheduledView } from '#src/messages/scheduled-messages.ts'
import { isZone, readMoment } from '#src/platform/time-input.ts'
import type { Tier } from '#src/queue/tiers.ts'
import { TIER_WORDS } from '#src/queue/tier-aliases.ts'
import { pageData, paging } from '#api/http/paging.ts'
import { readPart } from '#api/http/read-body.ts'
import { route } from '#api/http/route.ts'
import { AT_ITS_TIME, idsOf } from '#api/sending/answer.ts'
import { cancelledAnswer, scheduledAnswer, scheduledPage } from '#api/sending/answer-shapes.ts'
import { MESSAGE_REF, sendBody, type SendBody } from '#api/sending/body.ts'
import { digestOf } from '#api/sending/request-digest.ts'
import { idempotencyKeyOf, send } from '#api/sending/send.ts'
import { tierName } from '#api/sending/tier.ts'
import { answerSent, SENDING_ERRORS, sendingPaths } from './send.ts'

interface Scheduled {
  readonly body: SendBody
  readonly tier: Tier
  readonly at: Date
  readonly timezone: string
}

const times = z.looseObject({
  scheduled_at: z.string().nullish(),
  scheduled_for: z.string().nullish(),
  timezone: z.string().nullish(),
  priority: z.unknown().optional(),
  email: z.looseObject({}).nullish(),
})

const TIMES = {
  scheduled_at: {
    type: 'string',
    description: '`YYYY-MM-DD_HH:MM:SS` or ISO 8601; an offset in it wins over `timezone`',
  },
  scheduled_for: { type: 'string', description: 'alias of scheduled_at', deprecated: true },
  timezone: { type: 'string', description: 'IANA name; UTC when left out' },
  priority: { type: 'string', enum: TIER_WORDS, description: 'the tier it enters when due; normal when left out' },
}
const FLAT = {
  allOf: [MESSAGE_REF, { type: 'object', properties: TIMES }],
  description: 'the fields of a message beside its time',
}
const NESTED = {
  type: 'object',
  properties: { ...TIMES, email: MESSAGE_REF },
  required: ['email'],
  description: 'the message in `email`',
}
const EXAMPLE = {
  scheduled_at: '2031-05-05_08:00:00',
  timezone: 'Europe/Berlin',
  email: { from: 'shop@example.com', to: ['anna@example.org'], subject: 'Your order', html: '<p>Did it arrive?</p>' },
}

/** Flat or nested: the message may stand in `email`, and the time beside it or in it. */
const foldedBody = times.transform((given, sink): Scheduled => {
  const email = given.email ?? given
  const prefix = given.email === undefined || given.email === null ? [] : ['email']
  const timesIn = times.safeParse(email).data
  const message = readPart(sendBody, email)
  if (!message.ok)
    for (const { path, message: text } of message.details)
      sink.addIssue({ code: 'custom', path: [...prefix, path], message: text })
  const tier = readPart(tierName, given.priority ?? timesIn?.priority)
  if (!tier.ok)
    sink.addIssue({ code: 'custom', path: ['priority'], message: tier.details[0]?.message ?? 'is not valid' })
  const timezone = given.timezone || timesIn?.timezone || 'UTC'
  if (!isZone(timezone))
    sink.addIssue({ code: 'custom', path: ['timezone'], message: 'must be an IANA time zone such as Europe/Berlin' })
  const written = given.scheduled_at || given.scheduled_for || timesIn?.scheduled_at || timesIn?.scheduled_for
  const at = written && isZone(timezone) ? readMoment(written, timezone) : null
  if (!written) sink.addIssue({ code: 'custom', path: ['scheduled_at'], message: 'is required' })
  else if (at === null && isZone(timezone))
    sink.addIssue({ code: 'custom', path: ['scheduled_at'], message: 'must be YYYY-MM-DD_HH:MM:SS or ISO 8601' })
  return message.ok && tier.ok && at !== null ? { body: message.value, tier: tier.value, at, timezone } : z.NEVER
})
const scheduleBody = foldedBody.meta({ id: 'ScheduledMessage', anyOf: [FLAT, NESTED], examples: [EXAMPLE] })

export const scheduleEmail = route({
  name: 'schedule-email',
  summary: 'Send one message later, from 1 minute to 365 days ahead',
  method: 'POST',
  paths: sendingPaths('schedule'),
  access: 'regular',
  needsLaunch: true,
  body: scheduleBody,
  status: 200,
  answer: scheduledAnswer,
  errors: SENDING_ERRORS,
  handle: async (ctx, { caller, body, headers }) => {
    const found = idempotencyKeyOf(headers['idempotency-key'])
    if (!found.ok) return found.refusal
    const claim = found.key === null ? null : { key: found.key, bodyHash: digestOf('schedule', body) }
    return answerSent(
      await send(
        ctx,
        caller,
        { body: body.body, tier: body.tier, scheduledAt: body.at, timezone: body.timezone },
        claim,
      ),
    )
  },
})

export const listScheduledEmails = route({
  name: 'list-scheduled',
  summary: 'What waits for its time, soonest first',
  method: 'GET',
  paths: sendingPaths('scheduled'),
  access: 'regular',
  query: paging,
  status: 200,
  answer: scheduledPage,
  errors: ['SERVICE_UNAVAILABLE'],
  handle: async (ctx, { caller, query }) => {
    const { emails, total } = await listScheduled(ctx.db, caller.workspaceId, query)
    return {
      body: {
        success: true,
        message: `${total} scheduled emails.`,
        data: pageData('emails', { items: emails.map(present), total }, query),
      },
    }
  },
})

function present(email: ScheduledView): Record<string, unknown> {
  const ids = idsOf(email.id, email.createdAt)
  return {
    id: ids.scheduled,
    email_id: ids.email,
    object: 'scheduled_email',
    status: 'scheduled',
    scheduled_at: email.scheduledAt.toISOString(),
    timezone: email.timezone,
    from: email.from.email,
    to: email.to.map((one) => one.email),
    subject: email.subject,
    created_at: email.createdAt.toISOString(),
    metadata: { priority: email.tier, estimated_delivery: AT_ITS_TIME, recipients_count: email.recipientsCount },
  }
}

export const cancelScheduledEmail = route({
  name: 'cancel-scheduled',
  summary: 'Take a scheduled message back before its time',
  method: 'DELETE',
  paths: sendingPaths('schedule/:id', 'scheduled/:id'),
  access: 'regular',
  params: z.object({ id: z.string() }),
  status: 200,
  answer: cancelledAnswer,
  errors: ['NOT_FOUND', 'CONFLICT', 'SERVICE_UNAVAILABLE'],
  handle: async (ctx, { caller, params }) => {
    const id = messageIdOf(params.id)
    const result = id === null ? 'not-found' : await cancelScheduled(ctx, caller.workspaceId, id)
    if (result === 'not-found') return refuse('NOT_FOUND', 'There is no such scheduled email.')
    if (result === 'gone')
      return refuse('CONFLICT', 'The email is no longer waiting: it has left for the queue or was cancelled before.')
    return {
      body: { success: true, message: 'Scheduled email cancelled.', data: { id: params.id, status: 'cancelled' } },
    }
  },
})
