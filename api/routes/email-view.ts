/**
 * A message as responses show it: the head that a send returned; in lists the head and a few more fields; alone,
 * each recipient with its attempts, and the timeline. Each schema is next to the function that creates what it
 * describes.
 */
import { z } from 'zod'
import type { AttemptView, EventView, MessageView, RecipientView } from '#src/messages/read.ts'
import type { FoundMessage } from '#src/messages/search.ts'
import { findReasonTranslation } from '#src/messages/reason-texts.ts'
import { STATES } from '#src/messages/state.ts'
import { STATUSES } from '#src/messages/status.ts'
import { TIER_NAMES, TIERS } from '#src/queue/tiers.ts'
import { eventName } from '#src/events/reported-event.ts'
import { timestamp, translation, warned } from '#api/http/response-schemas.ts'
import { formatIds } from '#api/sending/send.ts'
import { namedTags, namedTagsSchema } from '#api/sending/tags.ts'

const nullableText = z.string().nullable()
const nullableTime = timestamp.nullable()
const count = z.int().min(0)
export const emailStatus = z.enum(STATUSES)
const headSchema = z.object({
  id: z.string(),
  object: z.enum(['email', 'scheduled_email']),
  status: emailStatus,
  from: z.string(),
  to: z.array(z.string()),
  subject: z.string(),
  created_at: timestamp,
  metadata: z.object({ priority: z.enum(TIER_NAMES), estimated_delivery: z.string(), recipients_count: count }),
  email_id: z.string(),
  queue: z.string(),
})

/** A message in a list. */
export const foundEmailSchema = headSchema
  .extend({
    priority: z.enum(TIER_NAMES),
    from_name: nullableText,
    tags: z.array(z.string()),
    named_tags: namedTagsSchema,
    scheduled_at: nullableTime,
  })
  .meta({ id: 'FoundEmail' })

const attemptSchema = z.object({
  attempt: count,
  at: timestamp,
  outcome: z.string(),
  scope: nullableText,
  reason: nullableText,
  reply: z.object({ code: z.int().nullable(), status: nullableText, text: nullableText }).nullable(),
  host: nullableText,
  address: nullableText,
  source: nullableText.meta({
    description: 'the egress source it left from; null: the operating system chose the address',
  }),
  tls: nullableText,
  duration_ms: z.int(),
  conversation: z.string(),
})
const state = z.enum(Object.keys(STATES) as [keyof typeof STATES, ...(keyof typeof STATES)[]])
const recipientSchema = z.object({
  address: z.string(),
  email: z.string(),
  kind: z.enum(['to', 'cc', 'bcc']),
  state,
  status: state,
  reason: nullableText,
  reason_translation: translation.nullable().meta({ description: 'of the reason; null: there is none' }),
  tries: count,
  next_try_at: nullableTime,
  updated_at: timestamp,
  attempts: z.array(attemptSchema),
})
const eventSchema = z.object({
  id: z.string(),
  type: z.string(),
  sequence: z.int(),
  recipient: z.string(),
  timestamp: timestamp,
  data: z.record(z.string(), z.unknown()).nullable(),
})

const templateSchema = z
  .object({ id: z.uuid(), version: z.int().min(1), is_test: z.boolean() })
  .meta({ description: 'the template it was rendered from' })

const submissionSchema = z.object({
  protocol: z.enum(['smtp', 'http']).meta({ description: 'how it was submitted' }),
  mail_from: z.string().meta({ description: 'the envelope sender that the client gave' }),
})

/** The response of get-email: the head at the top level, everything in `data`. */
export const emailResponse = headSchema
  .extend({
    success: z.literal(true),
    message: z.string(),
    ...warned,
    data: headSchema.extend({
      metadata: z.record(z.string(), z.unknown()).nullable(),
      priority: z.enum(TIER_NAMES),
      from_name: nullableText,
      cc: z.array(z.string()),
      tags: z.array(z.string()),
      named_tags: namedTagsSchema,
      template: templateSchema.nullable(),
      campaign_id: z.uuid().nullable(),
      request_id: nullableText.meta({
        description:
          'the X-Request-Id of the request that accepted it, or the id of its SMTP transaction, campaign or automation',
      }),
      submission: submissionSchema.nullable(),
      scheduled_at: nullableTime,
      timezone: nullableText,
      recipients: z.array(recipientSchema),
      attempts: z.array(attemptSchema.extend({ recipient: z.string() })),
      events: z.array(eventSchema),
    }),
  })
  .meta({ id: 'Email' })

type MessageHead = Pick<
  FoundMessage,
  'id' | 'status' | 'tier' | 'from' | 'to' | 'subject' | 'recipientsCount' | 'scheduledAt' | 'createdAt'
>

/** The fields of the response of a send, with their present values. */
function presentHead(message: MessageHead): Record<string, unknown> {
  const ids = formatIds(message.id, message.createdAt)
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

export function presentFoundEmail(message: FoundMessage): Record<string, unknown> {
  const { tier, from, tags, scheduledAt } = message
  return {
    ...presentHead(message),
    priority: tier,
    from_name: from.name,
    tags,
    named_tags: namedTags(tags),
    scheduled_at: scheduledAt?.toISOString() ?? null,
  }
}

/** The head at the top level, everything in `data`. */
export function presentMessage(message: MessageView): Record<string, unknown> {
  const head = presentHead({ ...message, recipientsCount: message.recipients.length })
  const data = {
    ...head,
    metadata: message.metadata,
    priority: message.tier,
    from_name: message.from.name,
    cc: message.cc.map(({ email }) => email),
    tags: message.tags,
    named_tags: namedTags(message.tags),
    template: message.template === null ? null : { ...message.template, is_test: message.template.is_test === true },
    campaign_id: message.campaignId,
    request_id: message.requestId,
    submission: presentSubmission(message.submitted),
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

function presentSubmission(submitted: MessageView['submitted']): object | null {
  return submitted === null ? null : { protocol: submitted.protocol ?? 'smtp', mail_from: submitted.from }
}

function presentRecipient(recipient: RecipientView): Record<string, unknown> {
  return {
    address: recipient.address,
    email: recipient.address,
    kind: recipient.kind,
    state: recipient.state,
    status: recipient.state,
    reason: recipient.reason,
    reason_translation: recipient.reason === null ? null : findReasonTranslation(recipient.reason),
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
