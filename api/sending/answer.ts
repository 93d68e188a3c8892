/** What a send answers: one superset that serves every variant of the specification. It is stored and repeated word by word. */
import { hexOf } from '#src/platform/id.ts'
import type { Submission } from '#src/messages/submission.ts'
import { TIERS } from '#src/queue/tiers.ts'

export interface SendAnswer {
  readonly success: true
  readonly message: string
  readonly id: string
  readonly [field: string]: unknown
}

/** The three spellings of one identity. */
export function idsOf(
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

export function answerOf(submission: Submission): SendAnswer {
  return submission.scheduledAt === null
    ? queuedAnswer(submission)
    : scheduledAnswer(submission, submission.scheduledAt)
}

function queuedAnswer(submission: Submission): SendAnswer {
  const { id, tier, from, to, subject, createdAt, recipients } = submission
  const ids = idsOf(id, createdAt)
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

export const AT_ITS_TIME = 'at the scheduled time'

function scheduledAnswer(submission: Submission, scheduledAt: Date): SendAnswer {
  const { id, tier, from, to, subject, createdAt, recipients, timezone } = submission
  const ids = idsOf(id, createdAt)
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
    metadata: { priority: tier, estimated_delivery: AT_ITS_TIME, recipients_count: recipients.length },
    email_id: ids.email,
    queue: TIERS[tier].queue,
    estimated_delivery: AT_ITS_TIME,
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
