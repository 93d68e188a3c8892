/**
 * Notices: problems that only the operator can solve. Each is reported once with a count until it is acknowledged.
 * The command line has the same: `mailstead notices`.
 */
import { z } from 'zod'
import { refuse } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import { acknowledgeNotices, listNotices, NOTICE_KIND_NAMES, type OperatorNotice } from '#src/operator/notices.ts'
import { findNoticeTranslation } from '#src/operator/notice-texts.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { nextCursor, paging } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { envelope, nextCursorField, timestamp, plainResponse, translation } from '#api/http/response-schemas.ts'
import { countText } from '#src/platform/plural.ts'
import { operatorName } from './admin-queue.ts'

const noticeSchema = z
  .object({
    id: z.uuid(),
    kind: z.enum(NOTICE_KIND_NAMES),
    subject: z.string(),
    text: z.string(),
    text_translation: translation.nullable().meta({ description: 'of the text; null: there is none' }),
    count: z.int().min(1).meta({ description: 'how often it happened' }),
    first_seen: timestamp,
    last_seen: timestamp,
    acknowledged_at: timestamp.nullable(),
    acknowledged_by: z.string().nullable(),
  })
  .meta({ id: 'Notice' })

const list = route({
  name: 'admin-list-notices',
  summary: 'List the problems that only the operator can solve, latest first',
  method: 'GET',
  paths: ['/admin/notices'],
  access: 'operator',
  status: 200,
  query: z.object({
    state: z.enum(['open', 'all']).default('open').meta({ description: '`all` includes acknowledged notices' }),
    limit: paging.shape.limit,
    cursor: paging.shape.cursor,
  }),
  response: envelope(z.object({ notices: z.array(noticeSchema), ...nextCursorField })),
  errors: ['VALIDATION_ERROR'],
  handle: async (ctx, request) => {
    const page = openPage(ctx, 'admin-list-notices', request)
    if (isRefusal(page)) return page
    const { items, next } = await listNotices(ctx.db, { ...page, all: request.query.state === 'all' })
    const data = { notices: items.map(present), ...nextCursor(next, page) }
    return { body: { success: true, message: `${countText(items.length, 'notice')}.`, data } }
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
}: OperatorNotice): Record<string, unknown> {
  return {
    id,
    kind,
    subject,
    text,
    text_translation: findNoticeTranslation(text),
    count,
    first_seen: firstSeen.toISOString(),
    last_seen: lastSeen.toISOString(),
    acknowledged_at: acknowledgedAt?.toISOString() ?? null,
    acknowledged_by: acknowledgedBy,
  }
}

const acknowledge = route({
  name: 'admin-acknowledge-notice',
  summary: 'Acknowledge a notice, or all of them; if the problem occurs again, a new notice is opened',
  method: 'POST',
  paths: ['/admin/notices/acknowledge'],
  access: 'operator',
  status: 200,
  response: plainResponse,
  body: z
    .object({ id: z.string().max(64, 'is too long').optional(), all: z.literal(true).optional() })
    .refine(({ id, all }) => (id === undefined) !== (all === undefined), 'give an id, or all: true'),
  errors: ['VALIDATION_ERROR', 'NOT_FOUND'],
  handle: async (ctx, { body: { id = null }, headers, address, person }) => {
    const acknowledgement = { id, by: operatorName({ headers, address, person }), now: new Date(ctx.clock.now()) }
    const acknowledgedCount = id === null || isUuid(id) ? await acknowledgeNotices(ctx.db, acknowledgement) : 0
    if (id !== null && acknowledgedCount === 0)
      return refuse('NOT_FOUND', 'There is no such open notice. List them with admin-list-notices.')
    return { body: { success: true, message: `${countText(acknowledgedCount, 'notice')} acknowledged.` } }
  },
})

export const ADMIN_NOTICE_ROUTES: readonly AnyRoute[] = [list, acknowledge]
