/** GET /public/emails/get-email: what became of a message: its status, each recipient with its attempts, and the timeline of events. */
import { z } from 'zod'
import { refuse, type Refusal } from '#src/errors.ts'
import { messageIdOf } from '#src/id.ts'
import { readMessage, type AttemptView, type EventView, type MessageView, type RecipientView } from '#src/messages/read.ts'
import { TIERS } from '#src/queue/tiers.ts'
import { eventName } from '#src/webhooks/payload.ts'
import type { ApiContext } from '#api/context.ts'
import { route, type Answer } from '#api/route.ts'
import { idsOf } from '#api/sending/answer.ts'

const byId = z.object({ id: z.string().min(1, 'is required').meta({ description: 'msg_…, em_…, scheduled_msg_… or the uuid' }) })

export const getEmail = route({
  name: 'get-email',
  summary: 'Status, recipients, attempts and timeline of one message',
  method: 'GET',
  paths: ['/public/emails/get-email'],
  access: 'any',
  query: byId,
  status: 200,
  errors: ['NOT_FOUND', 'SERVICE_UNAVAILABLE'],
  handle: (ctx, { caller, query }) => show(ctx, caller.workspaceId, query.id),
})

export const getEmailByPath = route({
  name: 'get-email-by-path',
  summary: 'The same with the id in the path',
  method: 'GET',
  paths: ['/public/emails/get-email/:id'],
  access: 'any',
  params: byId,
  status: 200,
  errors: ['NOT_FOUND', 'SERVICE_UNAVAILABLE'],
  handle: (ctx, { caller, params }) => show(ctx, caller.workspaceId, params.id),
})

async function show(ctx: ApiContext, workspaceId: string, name: string): Promise<Answer | Refusal> {
  const id = messageIdOf(name)
  const message = id === null ? null : await readMessage(ctx.db, workspaceId, id)
  return message === null ? refuse('NOT_FOUND', 'There is no such email.') : { body: present(message) }
}

/** The fields of a send's answer at the top, as of now; everything in `data`. */
function present(message: MessageView): Record<string, unknown> {
  const ids = idsOf(message.id, message.createdAt)
  const { queue, estimatedDelivery } = TIERS[message.tier]
  const isScheduled = message.scheduledAt !== null
  const head = {
    id: isScheduled ? ids.scheduled : ids.message,
    object: isScheduled ? 'scheduled_email' : 'email',
    status: message.status,
    from: message.from.email,
    to: message.to.map(({ email }) => email),
    subject: message.subject,
    created_at: message.createdAt.toISOString(),
    metadata: { priority: message.tier, estimated_delivery: estimatedDelivery, recipients_count: message.recipients.length },
    email_id: ids.email,
    queue,
  }
  const data = {
    ...head,
    metadata: message.metadata,
    priority: message.tier,
    from_name: message.from.name,
    cc: message.cc.map(({ email }) => email),
    tags: message.tags,
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
  const reply = attempt.replyCode === null ? null : { code: attempt.replyCode, status: attempt.replyStatus, text: attempt.replyText }
  return {
    attempt: attempt.attempt,
    at: attempt.at.toISOString(),
    outcome: attempt.outcome,
    scope: attempt.scope,
    reason: attempt.reason,
    reply,
    host: attempt.host,
    address: attempt.address,
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
