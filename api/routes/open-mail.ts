/**
 * The queue of a workspace: its open recipients, soonest due first, and how many there are by tier, receiver, domain,
 * campaign, state or age. The queue of the whole service is that of the operator (`admin-queue.ts`).
 */
import { z } from 'zod'
import { countOpen, cursorText, listOpen, readCursor, type QueueFilter } from '#src/messages/queue-view.ts'
import { parseFilter, type FilterInput } from '#src/operator/filter.ts'
import { invalid, type Refusal } from '#src/platform/errors.ts'
import { countText } from '#src/platform/plural.ts'
import type { ApiContext } from '#api/http/context.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { nextCursor, paging } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { envelope, nextCursorField } from '#api/http/response-schemas.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import {
  filterFieldsOf,
  openRecipientSchema,
  presentOpenRecipient,
  presentQueueCount,
  queueCountSchema,
} from './open-recipient-view.ts'

const MAX_GROUPS = 1000
const FILTERS = filterFieldsOf(['domain', 'site', 'campaign', 'tier', 'state', 'message', 'older_than'])
const GROUPINGS = ['tier', 'state', 'domain', 'site', 'campaign', 'age'] as const

/** Of another workspace nothing is found, whatever else the filter names. */
async function readFilter(ctx: ApiContext, workspace: string, given: FilterInput): Promise<QueueFilter | Refusal> {
  const read = await parseFilter(given, { db: ctx.db, nowMs: ctx.clock.now() })
  return read.ok ? { ...read.filter, workspace } : invalid(read.details)
}

const list = route({
  name: 'list-open-mail',
  summary: 'List the recipients that wait in the queue, soonest due first, each with what holds it',
  method: 'GET',
  paths: ['/public/queue'],
  access: 'any',
  query: z.object({ ...FILTERS, limit: paging.shape.limit, cursor: paging.shape.cursor }),
  status: 200,
  response: envelope(
    z.object({ recipients: z.array(openRecipientSchema), next: z.string().nullable(), ...nextCursorField }),
  ),
  errors: ['VALIDATION_ERROR'],
  handle: async (ctx, request) => {
    const { limit, cursor: _, ...given } = request.query
    const page = openPage(ctx, 'list-open-mail', request, (text) => (readCursor(text) === null ? null : text))
    if (isRefusal(page)) return page
    const [after] = page.at?.key ?? []
    const filter = await readFilter(ctx, request.caller.workspaceId, given)
    if (isRefusal(filter)) return filter
    const deps = { db: ctx.db, now: new Date(ctx.clock.now()), shapingFile: ctx.config.shapingFile }
    const at = { limit, cursor: after === undefined ? null : readCursor(after) }
    const { open, next } = await listOpen(deps, filter, at)
    const text = next === null ? null : cursorText(next)
    const position = text === null ? null : { key: [text], before: 0, total: 0 }
    const data = { recipients: open.map(presentOpenRecipient), next: text, ...nextCursor(position, page) }
    return { body: { success: true, message: `${countText(open.length, 'recipient')}.`, data } }
  },
})

const counts = route({
  name: 'count-open-mail',
  summary: 'Count the recipients in the queue by tier, receiver, domain, campaign, state or age; largest first',
  description:
    'Each group has the time when its first recipient was or is due: long ago means that the group is late. ' +
    'The topic `open-mail` of stream-changes reports the counts by tier as they change.',
  method: 'GET',
  paths: ['/public/queue/counts'],
  access: 'any',
  query: z.object({ ...FILTERS, by: z.enum(GROUPINGS).default('tier') }),
  status: 200,
  response: envelope(z.object({ by: z.enum(GROUPINGS), counts: z.array(queueCountSchema) })),
  errors: ['VALIDATION_ERROR'],
  handle: async (ctx, { caller: { workspaceId }, query: { by, ...given } }) => {
    const filter = await readFilter(ctx, workspaceId, given)
    if (isRefusal(filter)) return filter
    const found = await countOpen(ctx.db, filter, by, MAX_GROUPS)
    const data = { by, counts: found.map(presentQueueCount) }
    return { body: { success: true, message: `${countText(found.length, 'group')}.`, data } }
  },
})

export const OPEN_MAIL_ROUTES: readonly AnyRoute[] = [list, counts]
