/**
 * The response to a send: a superset of all variants that the API contract names. With an Idempotency-Key it is stored
 * and repeated unchanged.
 */
import { hexOf } from '#src/platform/id.ts'
import type { Submission } from '#src/messages/submission.ts'
import { TIERS } from '#src/queue/tiers.ts'

export interface SendResponse {
  readonly success: true
  readonly message: string
  readonly id: string
  readonly [field: string]: unknown
}

/** The three public forms of a message id. */
export function formatIds(
  id: string,
  createdAt: Date,
): { readonly message: string; readonly email: string; readonly scheduled: string } {
  const suffix = hexOf(id)
  return {
    message: `msg_${createdAt.getTime()}_${suffix}`,
    email: `em_${suffix}`,
    scheduled: `scheduled_msg_${createdAt.getTime()}_${suffix}`,
  }
}

export function createSendResponse(submission: Submission): SendResponse {
  return submission.scheduledAt === null
    ? queuedResponse(submission)
    : scheduledResponse(submission, submission.scheduledAt)
}

function queuedResponse(submission: Submission): SendResponse {
  const { id, tier, from, to, subject, createdAt, recipients } = submission
  const ids = formatIds(id, createdAt)
  const { queue, estimatedDelivery } = TIERS[tier]
  return {
    success: true,
    message: 'Email queued for delivery.',
    id: ids.message,
    object: 'email',
    status: 'queued',
    from: from.email,
    to: to.map(({ email }) => email),
    subject,
    created_at: createdAt.toISOString(),
    metadata: { priority: tier, estimated_delivery: estimatedDelivery, recipients_count: recipients.length },
    email_id: ids.email,
    queue,
    estimated_delivery: estimatedDelivery,
    data: { id: ids.message, job_id: ids.email, status: 'queued', priority: tier, recipients: recipients.length },
  }
}

export const SCHEDULED_ESTIMATE = 'at the scheduled time'

function scheduledResponse(submission: Submission, scheduledAt: Date): SendResponse {
  const { id, tier, from, to, subject, createdAt, recipients, timezone } = submission
  const ids = formatIds(id, createdAt)
  const scheduled_at = scheduledAt.toISOString()
  return {
    success: true,
    message: 'Email scheduled for delivery.',
    id: ids.scheduled,
    object: 'scheduled_email',
    status: 'scheduled',
    scheduled_at,
    timezone,
    from: from.email,
    to: to.map(({ email }) => email),
    subject,
    created_at: createdAt.toISOString(),
    metadata: { priority: tier, estimated_delivery: SCHEDULED_ESTIMATE, recipients_count: recipients.length },
    email_id: ids.email,
    queue: TIERS[tier].queue,
    estimated_delivery: SCHEDULED_ESTIMATE,
    data: {
      id: ids.scheduled,
      job_id: ids.email,
      status: 'scheduled',
      priority: tier,
      recipients: recipients.length,
      scheduled_at,
      timezone,
    },
  }
}
