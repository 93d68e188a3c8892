/** The schemas of the responses to sends. `send.ts` creates the values. */
import { z } from 'zod'
import { TIERS, TIER_NAMES } from '#src/queue/tiers.ts'
import { envelope, errorBody, timestamp, pagedList, warned } from '#api/http/response-schemas.ts'

const queue = z.enum(Object.values(TIERS).map((row) => row.queue))
const count = z.int().min(0)
const estimate = z.string().meta({ description: 'such as 0-5 seconds' })

/** The fields that all representations of a message share. */
const messageHead = z.object({
  id: z
    .string()
    .meta({ description: 'msg_<epoch ms>_<suffix>, or scheduled_msg_…; each form of the id is accepted everywhere' }),
  from: z.string(),
  to: z.array(z.string()),
  subject: z.string(),
  created_at: timestamp,
  metadata: z.object({ priority: z.enum(TIER_NAMES), estimated_delivery: estimate, recipients_count: count }),
  email_id: z.string().meta({ description: 'em_<suffix>' }),
})

const job = z.object({ id: z.string(), job_id: z.string(), priority: z.enum(TIER_NAMES), recipients: count })

const SUFFIX = '019a9a000000700080000000000000aa'
const EXAMPLE_HEAD = {
  from: 'shop@example.com',
  to: ['anna@example.org'],
  subject: 'Your order',
  created_at: '2031-05-04T10:00:00.000Z',
  email_id: `em_${SUFFIX}`,
}

const queued = messageHead.extend({
  success: z.literal(true),
  message: z.string(),
  object: z.literal('email'),
  status: z.literal('queued'),
  queue,
  estimated_delivery: estimate,
  data: job.extend({ status: z.literal('queued') }),
  ...warned,
})

export const queuedResponse = queued.meta({
  id: 'QueuedEmail',
  examples: [
    {
      success: true,
      message: 'Email queued for delivery.',
      id: `msg_1935568800000_${SUFFIX}`,
      object: 'email',
      status: 'queued',
      ...EXAMPLE_HEAD,
      metadata: { priority: 'instant', estimated_delivery: '0-5 seconds', recipients_count: 1 },
      queue: 'instant',
      estimated_delivery: '0-5 seconds',
      data: {
        id: `msg_1935568800000_${SUFFIX}`,
        job_id: `em_${SUFFIX}`,
        status: 'queued',
        priority: 'instant',
        recipients: 1,
      },
    },
  ],
})

const scheduledFields = {
  object: z.literal('scheduled_email'),
  status: z.literal('scheduled'),
  scheduled_at: timestamp,
  timezone: z.string(),
}

export const scheduledResponse = messageHead
  .extend({
    success: z.literal(true),
    message: z.string(),
    ...scheduledFields,
    queue,
    estimated_delivery: estimate,
    data: job.extend({ status: z.literal('scheduled'), scheduled_at: timestamp, timezone: z.string() }),
    ...warned,
  })
  .meta({
    id: 'ScheduledEmail',
    examples: [
      {
        success: true,
        message: 'Email scheduled for delivery.',
        id: `scheduled_msg_1935568800000_${SUFFIX}`,
        object: 'scheduled_email',
        status: 'scheduled',
        scheduled_at: '2031-05-05T06:00:00.000Z',
        timezone: 'Europe/Berlin',
        ...EXAMPLE_HEAD,
        metadata: { priority: 'normal', estimated_delivery: 'at the scheduled time', recipients_count: 1 },
        queue: 'async',
        estimated_delivery: 'at the scheduled time',
        data: {
          id: `scheduled_msg_1935568800000_${SUFFIX}`,
          job_id: `em_${SUFFIX}`,
          status: 'scheduled',
          priority: 'normal',
          recipients: 1,
          scheduled_at: '2031-05-05T06:00:00.000Z',
          timezone: 'Europe/Berlin',
        },
      },
    ],
  })

/** As of a message that is sent now, or of one that is scheduled. */
export const rawResponse = z.union([queuedResponse, scheduledResponse])

const waitingEmail = messageHead
  .extend({ ...scheduledFields, timezone: z.string().nullable() })
  .meta({ id: 'WaitingEmail' })

/** The list of scheduled messages. */
export const scheduledList = pagedList('emails', waitingEmail)
export const changedResponse = envelope(waitingEmail).meta({ id: 'ChangedEmailAnswer' })

export const cancelledResponse = envelope(z.object({ id: z.string(), status: z.literal('cancelled') }))

const item = { index: z.int().min(0).meta({ description: 'its index in `messages`' }) }

/** One entry per message of a batch, in order: the response that a single send would have got. */
export const batchResponse = envelope(
  z.object({
    total: count,
    accepted: count,
    refused: count,
    results: z.array(
      z.union([
        queued.extend(item).meta({ id: 'AcceptedBatchItem' }),
        errorBody.extend(item).meta({ id: 'RefusedBatchItem' }),
      ]),
    ),
  }),
).meta({ id: 'BatchAnswer' })
