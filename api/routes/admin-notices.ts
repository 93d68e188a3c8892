/** What only the operator can mend: told once each, with how often, until it is acknowledged. The command line: `mailstead notices`. */
import { z } from 'zod'
import { refuse } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import { acknowledgeNotices, listNotices, NOTICE_KIND_NAMES, type Notice } from '#src/operator/notices.ts'
import { paging } from '#api/http/paging.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { enveloped, moment, plainAnswer } from '#api/http/answer-shapes.ts'
import { operatorName } from './admin-queue.ts'

const shape = z
  .object({
    id: z.uuid(),
    kind: z.enum(NOTICE_KIND_NAMES),
    subject: z.string(),
    text: z.string(),
    count: z.int().min(1).meta({ description: 'how often it happened' }),
    first_seen: moment,
    last_seen: moment,
    acknowledged_at: moment.nullable(),
    acknowledged_by: z.string().nullable(),
  })
  .meta({ id: 'Notice' })

const list = route({
  name: 'admin-list-notices',
  summary: 'What only the operator can mend, the latest first',
  method: 'GET',
  paths: ['/admin/notices'],
  access: 'operator',
  status: 200,
  query: z.object({
    state: z.enum(['open', 'all']).default('open').meta({ description: 'all: with those that were acknowledged' }),
    limit: paging.shape.limit,
  }),
  answer: enveloped(z.object({ notices: z.array(shape) })),
  errors: ['VALIDATION_ERROR'],
  handle: async (ctx, { query: { state, limit } }) => {
    const notices = (await listNotices(ctx.db, { all: state === 'all', limit })).map(present)
    return { body: { success: true, message: `${notices.length} notices.`, data: { notices } } }
  },
})

function present({
  id,
  kind,
  subject,
  text,
  count,
  firstSeen,
  lastSeen,
  acknowledgedAt,
  acknowledgedBy,
}: Notice): Record<string, unknown> {
  return {
    id,
    kind,
    subject,
    text,
    count,
    first_seen: firstSeen.toISOString(),
    last_seen: lastSeen.toISOString(),
    acknowledged_at: acknowledgedAt?.toISOString() ?? null,
    acknowledged_by: acknowledgedBy,
  }
}

const acknowledge = route({
  name: 'admin-acknowledge-notice',
  summary: 'Acknowledge a notice, or all of them: what happens again after that is told anew',
  method: 'POST',
  paths: ['/admin/notices/acknowledge'],
  access: 'operator',
  status: 200,
  answer: plainAnswer,
  body: z
    .object({ id: z.string().max(64, 'is too long').optional(), all: z.literal(true).optional() })
    .refine(({ id, all }) => (id === undefined) !== (all === undefined), 'give an id, or all: true'),
  errors: ['VALIDATION_ERROR', 'NOT_FOUND'],
  handle: async (ctx, { body: { id = null }, headers, address }) => {
    const order = { id, by: operatorName(headers, address), now: new Date(ctx.clock.now()) }
    const done = id === null || isUuid(id) ? await acknowledgeNotices(ctx.db, order) : 0
    if (id !== null && done === 0) return refuse('NOT_FOUND', 'There is no such open notice.')
    return { body: { success: true, message: `${done} notices are acknowledged.` } }
  },
})

export const ADMIN_NOTICE_ROUTES: readonly AnyRoute[] = [list, acknowledge]
