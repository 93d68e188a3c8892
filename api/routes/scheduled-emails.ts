/**
 * Scheduled messages: POST /send-email/schedule, the list of messages that wait, and the cancellation of one before
 * its time.
 */
import { z } from 'zod'
import { refuse } from '#src/platform/errors.ts'
import { messageIdOf } from '#src/platform/id.ts'
import { cancelScheduled, findScheduled, listScheduled, type ScheduledView } from '#src/messages/scheduled-messages.ts'
import { isTimeZone, parseTime } from '#src/platform/time-input.ts'
import type { Tier } from '#src/queue/tiers.ts'
import { TIER_ALIASES } from '#src/queue/tier-aliases.ts'
import { mapPage } from '#src/stores/page.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { pageData, paging } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { parseWith } from '#api/http/request-reader.ts'
import { route } from '#api/http/route.ts'
import { cancelledResponse, scheduledResponse, scheduledList } from '#api/sending/response-schemas.ts'
import { MESSAGE_REF, sendBody, type SendBody } from '#api/sending/body.ts'
import { checkSender } from '#api/sending/prepare.ts'
import { formatIds, readClaim, SCHEDULED_ESTIMATE, send } from '#api/sending/send.ts'
import { bindSender } from '#api/sending/session-sender.ts'
import { tierName } from '#api/sending/tier.ts'
import { respondToSend, SENDING_ERRORS, sendingPaths } from './send.ts'
import { countText } from '#src/platform/plural.ts'

interface ScheduledSend {
  readonly body: SendBody
  readonly tier: Tier
  readonly at: Date
  readonly timezone: string
}

const timeFields = z.looseObject({
  scheduled_at: z.string().nullish(),
  scheduled_for: z.string().nullish(),
  timezone: z.string().nullish(),
  priority: z.unknown().optional(),
  email: z.looseObject({}).nullish(),
})

const TIME_SCHEMAS = {
  scheduled_at: {
    type: 'string',
    description: '`YYYY-MM-DD_HH:MM:SS` or ISO 8601; an offset takes precedence over `timezone`',
  },
  scheduled_for: { type: 'string', description: 'alias of scheduled_at', deprecated: true },
  timezone: { type: 'string', description: 'IANA time zone; by default UTC' },
  priority: { type: 'string', enum: TIER_ALIASES, description: 'the tier it enters when due; by default normal' },
}
const TIMED_MESSAGE = { allOf: [MESSAGE_REF, { type: 'object', properties: TIME_SCHEMAS }] }
const FLAT = {
  ...TIMED_MESSAGE,
  description: 'the fields of a message next to its time',
}
const NESTED = {
  type: 'object',
  properties: { ...TIME_SCHEMAS, email: { anyOf: [MESSAGE_REF, TIMED_MESSAGE] } },
  required: ['email'],
  description: 'the message in `email`',
}
const EXAMPLE = {
  scheduled_at: '2031-05-05_08:00:00',
  timezone: 'Europe/Berlin',
  email: { from: 'shop@example.com', to: ['anna@example.org'], subject: 'Your order', html: '<p>Did it arrive?</p>' },
}

/** Flat or nested: the message may be in `email`, and the time next to it or in it. */
const parsedBody = timeFields.transform((given, sink): ScheduledSend => {
  const email = given.email ?? given
  const prefix = given.email === undefined || given.email === null ? [] : ['email']
  const nestedTimes = timeFields.safeParse(email).data
  const message = parseWith(sendBody, email)
  if (!message.ok)
    for (const { path, message: text } of message.details)
      sink.addIssue({ code: 'custom', path: [...prefix, path], message: text })
  const tier = parseWith(tierName, given.priority ?? nestedTimes?.priority)
  if (!tier.ok)
    sink.addIssue({ code: 'custom', path: ['priority'], message: tier.details[0]?.message ?? 'is not valid' })
  const timezone = given.timezone || nestedTimes?.timezone || 'UTC'
  if (!isTimeZone(timezone))
    sink.addIssue({ code: 'custom', path: ['timezone'], message: 'must be an IANA time zone such as Europe/Berlin' })
  const timeText = given.scheduled_at || given.scheduled_for || nestedTimes?.scheduled_at || nestedTimes?.scheduled_for
  const at = timeText && isTimeZone(timezone) ? parseTime(timeText, timezone) : null
  if (!timeText) sink.addIssue({ code: 'custom', path: ['scheduled_at'], message: 'is required' })
  else if (at === null && isTimeZone(timezone))
    sink.addIssue({ code: 'custom', path: ['scheduled_at'], message: 'must be YYYY-MM-DD_HH:MM:SS or ISO 8601' })
  return message.ok && tier.ok && at !== null ? { body: message.value, tier: tier.value, at, timezone } : z.NEVER
})
const scheduleBody = parsedBody.meta({ id: 'ScheduledMessage', anyOf: [FLAT, NESTED], examples: [EXAMPLE] })

export const scheduleEmail = route({
  name: 'schedule-email',
  summary: 'Schedule one message, from 1 minute to 365 days ahead',
  method: 'POST',
  paths: sendingPaths('schedule'),
  access: 'regular',
  needsLaunch: true,
  body: scheduleBody,
  status: 200,
  response: scheduledResponse,
  countsQuota: true,
  errors: SENDING_ERRORS,
  handle: async (ctx, request) => {
    const { body, headers } = request
    const caller = await bindSender(ctx, request.caller, body.body.from)
    if (isRefusal(caller)) return caller
    const read = readClaim(headers, 'schedule', body)
    if (!read.ok) return read.refusal
    return respondToSend(
      await send(
        ctx,
        caller,
        { body: body.body, tier: body.tier, scheduledAt: body.at, timezone: body.timezone },
        read.claim,
      ),
    )
  },
})

export const listScheduledEmails = route({
  name: 'list-scheduled',
  summary: 'List the scheduled messages, soonest first',
  method: 'GET',
  paths: sendingPaths('scheduled'),
  access: 'regular',
  query: paging,
  status: 200,
  response: scheduledList,
  errors: ['SERVICE_UNAVAILABLE'],
  handle: async (ctx, request) => {
    const { caller } = request
    const page = openPage(ctx, 'list-scheduled', request)
    if (isRefusal(page)) return page
    const found = await listScheduled(ctx.db, caller.workspaceId, page)
    return {
      body: {
        success: true,
        message: `${countText(found.total, 'scheduled email')}.`,
        data: pageData('emails', mapPage(found, presentScheduled), page),
      },
    }
  },
})

export function presentScheduled(email: ScheduledView): Record<string, unknown> {
  const ids = formatIds(email.id, email.createdAt)
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
    metadata: { priority: email.tier, estimated_delivery: SCHEDULED_ESTIMATE, recipients_count: email.recipientsCount },
  }
}

const NOT_SCHEDULED = refuse('NOT_FOUND', 'There is no such scheduled email. List them with list-scheduled.')

export const cancelScheduledEmail = route({
  name: 'cancel-scheduled',
  summary: 'Cancel a scheduled message before its time; a repetition has the same result',
  method: 'DELETE',
  paths: sendingPaths('schedule/:id', 'scheduled/:id'),
  access: 'regular',
  params: z.object({ id: z.string() }),
  status: 200,
  response: cancelledResponse,
  errors: ['NOT_FOUND', 'CONFLICT', 'SERVICE_UNAVAILABLE'],
  handle: async (ctx, { caller, params }) => {
    const { workspaceId } = caller
    const id = messageIdOf(params.id)
    const present = id === null ? null : await findScheduled(ctx.db, workspaceId, id)
    if (present === null) return NOT_SCHEDULED
    // a key may cancel what it may send: as a change, not mail of another sender of the workspace. A person has the
    // permission for the whole workspace
    const refusal = caller.keyId === null ? null : checkSender(caller, present.from)
    if (refusal !== null) return refusal
    const result = await cancelScheduled(ctx, workspaceId, present.id)
    if (result === 'not-found') return NOT_SCHEDULED
    if (result === 'gone')
      return refuse('CONFLICT', 'The email can no longer be cancelled: it is being sent. Get it to see its state.')
    return {
      body: { success: true, message: 'Scheduled email cancelled.', data: { id: params.id, status: 'cancelled' } },
    }
  },
})
