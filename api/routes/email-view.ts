/**
 * A message as answers tell it: its head, which a send answered too; in lists the head and a little more; by itself each recipient with all
 * tries, and the timeline. The schemas stand beside the functions that make what they describe.
 */
import { z } from 'zod'
import type { AttemptView, EventView, MessageView, RecipientView } from '#src/messages/read.ts'
import type { FoundMessage } from '#src/messages/search.ts'
import { STATES } from '#src/messages/state.ts'
import { STATUSES } from '#src/messages/status.ts'
import { TIER_NAMES, TIERS } from '#src/queue/tiers.ts'
import { eventName } from '#src/webhooks/payload.ts'
import { moment } from '#api/http/answer-shapes.ts'
import { idsOf } from '#api/sending/answer.ts'

const text = z.string().nullable()
const time = moment.nullable()
const count = z.int().min(0)
export const status = z.enum(STATUSES)
const headShape = z.object({
  id: z.string(),
  object: z.enum(['email', 'scheduled_email']),
  status,
  from: z.string(),
  to: z.array(z.string()),
  subject: z.string(),
  created_at: moment,
  metadata: z.object({ priority: z.enum(TIER_NAMES), estimated_delivery: z.string(), recipients_count: count }),
  email_id: z.string(),
  queue: z.string(),
})

/** One line of a list. */
export const foundShape = headShape
  .extend({
    priority: z.enum(TIER_NAMES),
    from_name: text,
    tags: z.array(z.string()),
    scheduled_at: time,
  })
  .meta({ id: 'FoundEmail' })

const attemptShape = z.object({
  attempt: count,
  at: moment,
  outcome: z.string(),
  scope: text,
  reason: text,
  reply: z.object({ code: z.int().nullable(), status: text, text }).nullable(),
  host: text,
  address: text,
  source: text.meta({ description: 'the egress source it left from; null: the system chose the address' }),
  tls: text,
  duration_ms: z.int(),
  conversation: z.string(),
})
const state = z.enum(Object.keys(STATES) as [keyof typeof STATES, ...(keyof typeof STATES)[]])
const recipientShape = z.object({
  address: z.string(),
  email: z.string(),
  kind: z.enum(['to', 'cc', 'bcc']),
  state,
  status: state,
  reason: text,
  tries: count,
  next_try_at: time,
  updated_at: moment,
  attempts: z.array(attemptShape),
})
const eventShape = z.object({
  id: z.string(),
  type: z.string(),
  sequence: z.int(),
  recipient: z.string(),
  timestamp: moment,
  data: z.record(z.string(), z.unknown()).nullable(),
})

const templateShape = z
  .object({ id: z.uuid(), version: z.int().min(1), is_test: z.boolean() })
  .meta({ description: 'the template that it was made from' })

/** The answer of get-email: the head at the top, everything in `data`. */
export const emailAnswer = headShape
  .extend({
    success: z.literal(true),
    message: z.string(),
    data: headShape.extend({
      metadata: z.record(z.string(), z.unknown()).nullable(),
      priority: z.enum(TIER_NAMES),
      from_name: text,
      cc: z.array(z.string()),
      tags: z.array(z.string()),
      template: templateShape.nullable(),
      campaign_id: z.uuid().nullable(),
      scheduled_at: time,
      timezone: text,
      recipients: z.array(recipientShape),
      attempts: z.array(attemptShape.extend({ recipient: z.string() })),
      events: z.array(eventShape),
    }),
  })
  .meta({ id: 'Email' })

type Head = Pick<
  FoundMessage,
  'id' | 'status' | 'tier' | 'from' | 'to' | 'subject' | 'recipientsCount' | 'scheduledAt' | 'createdAt'
>

/** The fields of a send's answer, as of now. */
function presentHead(message: Head): Record<string, unknown> {
  const ids = idsOf(message.id, message.createdAt)
  const { queue, estimatedDelivery } = TIERS[message.tier]
  const isScheduled = message.scheduledAt !== null
  return {
    id: isScheduled ? ids.scheduled : ids.message,
    object: isScheduled ? 'scheduled_email' : 'email',
    status: message.status,
    from: message.from.email,
    to: message.to.map(({ email }) => email),
    subject: message.subject,
    created_at: message.createdAt.toISOString(),
    metadata: {
      priority: message.tier,
      estimated_delivery: estimatedDelivery,
      recipients_count: message.recipientsCount,
    },
    email_id: ids.email,
    queue,
  }
}

export function presentFound(message: FoundMessage): Record<string, unknown> {
  const { tier, from, tags, scheduledAt } = message
  return {
    ...presentHead(message),
    priority: tier,
    from_name: from.name,
    tags,
    scheduled_at: scheduledAt?.toISOString() ?? null,
  }
}

/** The head at the top, everything in `data`. */
export function presentMessage(message: MessageView): Record<string, unknown> {
  const head = presentHead({ ...message, recipientsCount: message.recipients.length })
  const data = {
    ...head,
    metadata: message.metadata,
    priority: message.tier,
    from_name: message.from.name,
    cc: message.cc.map(({ email }) => email),
    tags: message.tags,
    template: message.template === null ? null : { ...message.template, is_test: message.template.is_test === true },
    campaign_id: message.campaignId,
    scheduled_at: message.scheduledAt?.toISOString() ?? null,
    timezone: message.timezone,
    recipients: message.recipients.map(presentRecipient),
    attempts: message.recipients.flatMap((recipient) =>
      recipient.attempts.map((attempt) => ({ recipient: recipient.address, ...presentAttempt(attempt) })),
    ),
    events: message.events.map(presentEvent),
  }
  return { success: true, message: `Email is ${message.status}.`, ...head, data }
}

function presentRecipient(recipient: RecipientView): Record<string, unknown> {
  return {
    address: recipient.address,
    email: recipient.address,
    kind: recipient.kind,
    state: recipient.state,
    status: recipient.state,
    reason: recipient.reason,
    tries: recipient.tries,
    next_try_at: recipient.nextTryAt?.toISOString() ?? null,
    updated_at: recipient.updatedAt.toISOString(),
    attempts: recipient.attempts.map(presentAttempt),
  }
}

function presentAttempt(attempt: AttemptView): Record<string, unknown> {
  const reply =
    attempt.replyCode === null
      ? null
      : { code: attempt.replyCode, status: attempt.replyStatus, text: attempt.replyText }
  return {
    attempt: attempt.attempt,
    at: attempt.at.toISOString(),
    outcome: attempt.outcome,
    scope: attempt.scope,
    reason: attempt.reason,
    reply,
    host: attempt.host,
    address: attempt.address,
    source: attempt.source,
    tls: attempt.tls,
    duration_ms: attempt.durationMs,
    conversation: attempt.conversation,
  }
}

function presentEvent(event: EventView): Record<string, unknown> {
  return {
    id: eventName(event.id),
    type: event.type,
    sequence: event.sequence,
    recipient: event.recipient,
    timestamp: event.createdAt.toISOString(),
    data: event.data,
  }
}
