/**
 * The operator's view of all queues: list and count open recipients by filter; retry, drop or bounce them as an
 * action that continues in the background; and explain why a message is where it is. The command line does the same
 * (`mailstead queue`, `mailstead explain`).
 */
import { z } from 'zod'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { isUuid, messageIdOf } from '#src/platform/id.ts'
import { explainMessage } from '#src/messages/explain.ts'
import {
  GROUPING_NAMES,
  countOpen,
  cursorText,
  listOpen,
  readCursor,
  type QueueFilter,
} from '#src/messages/queue-view.ts'
import { continueAction, beginAction, MAIL_VERBS, type MailVerb } from '#src/operator/actions.ts'
import { FILTER_FIELDS, parseFilter, type FilterField, type FilterInput } from '#src/operator/filter.ts'
import { findAction, listActions, type OperatorAction } from '#src/operator/action-log.ts'
import { isRefusal } from '#api/http/response.ts'
import type { ApiContext } from '#api/http/context.ts'
import { operatorOf } from '#api/http/audit.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { nextCursor, paging } from '#api/http/paging.ts'
import { route, type AnyRequest, type ApiResponse, type AnyRoute } from '#api/http/route.ts'
import { envelope, nextCursorField, timestamp } from '#api/http/response-schemas.ts'
import { countText } from '#src/platform/plural.ts'
import { explanationResponse, presentExplanation } from './email-explanation.ts'
import {
  filterFieldsOf,
  openRecipientSchema,
  presentOpenRecipient,
  presentQueueCount,
  queueCountSchema,
} from './open-recipient-view.ts'

const MAX_GROUPS = 1000
/** How long a request waits for its action to finish. */
const ACTION_WAIT_MS = 2000

const filterFields = filterFieldsOf(Object.keys(FILTER_FIELDS) as FilterField[])

/** Who the operator is, and the client address, for the record of the action. */
export function operatorName({ headers, address, person }: Pick<AnyRequest, 'headers' | 'address' | 'person'>): string {
  return `${operatorOf({ headers, person })}, from ${address === '' ? 'an unknown address' : address}`
}

async function readQueueFilter(ctx: ApiContext, given: FilterInput): Promise<QueueFilter | Refusal> {
  const read = await parseFilter(given, { db: ctx.db, nowMs: ctx.clock.now() })
  return read.ok ? read.filter : invalid(read.details)
}

const count = z.int().min(0)
const list = route({
  name: 'admin-list-queue',
  summary: 'List the open recipients of all workspaces, soonest due first',
  method: 'GET',
  paths: ['/admin/queue'],
  access: 'operator',
  query: z.object({
    ...filterFields,
    limit: paging.shape.limit,
    cursor: paging.shape.cursor,
  }),
  status: 200,
  response: envelope(
    z.object({ recipients: z.array(openRecipientSchema), next: z.string().nullable(), ...nextCursorField }),
  ),
  errors: ['VALIDATION_ERROR'],
  handle: async (ctx, request) => {
    const { limit, cursor: _, ...given } = request.query
    const page = openPage(ctx, 'admin-list-queue', request, (text) => (readCursor(text) === null ? null : text))
    if (isRefusal(page)) return page
    const [after] = page.at?.key ?? []
    const filter = await readQueueFilter(ctx, given)
    if (isRefusal(filter)) return filter
    const deps = { db: ctx.db, now: new Date(ctx.clock.now()), shapingFile: ctx.config.shapingFile }
    const { open, next } = await listOpen(deps, filter, {
      limit,
      cursor: after === undefined ? null : readCursor(after),
    })
    const text = next === null ? null : cursorText(next)
    const position = text === null ? null : { key: [text], before: 0, total: 0 }
    const data = { recipients: open.map(presentOpenRecipient), next: text, ...nextCursor(position, page) }
    return { body: { success: true, message: `${countText(open.length, 'recipient')}.`, data } }
  },
})

const counts = route({
  name: 'admin-count-queue',
  summary:
    'Count the open recipients by site, recipient domain, workspace, campaign, tier, state or age; largest first',
  method: 'GET',
  paths: ['/admin/queue/counts'],
  access: 'operator',
  query: z.object({ ...filterFields, by: z.enum(GROUPING_NAMES).default('tier') }),
  status: 200,
  response: envelope(
    z.object({
      by: z.enum(GROUPING_NAMES),
      counts: z.array(queueCountSchema),
    }),
  ),
  errors: ['VALIDATION_ERROR'],
  handle: async (ctx, { query: { by, ...given } }) => {
    const filter = await readQueueFilter(ctx, given)
    if (isRefusal(filter)) return filter
    const found = await countOpen(ctx.db, filter, by, MAX_GROUPS)
    const data = { by, counts: found.map(presentQueueCount) }
    return { body: { success: true, message: `${countText(found.length, 'group')}.`, data } }
  },
})

const actionSchema = z
  .object({
    id: z.uuid(),
    verb: z.string(),
    subject: z.record(z.string(), z.string()),
    reason: z.string(),
    by: z.string(),
    state: z.enum(['running', 'done']),
    moved: count.meta({ description: 'recipients that were changed' }),
    seen: count.meta({ description: 'recipients that were examined: the progress' }),
    began_at: timestamp,
    ended_at: timestamp.nullable(),
  })
  .meta({ id: 'OperatorAction' })
const actionResponse = envelope(actionSchema)

function presentAction({ beganAt, endedAt, ...rest }: OperatorAction): Record<string, unknown> {
  return { ...rest, began_at: beganAt.toISOString(), ended_at: endedAt?.toISOString() ?? null }
}

const reason = z.string().trim().max(500, 'is too long').optional().meta({ description: 'why; stored with the action' })
const queueActionBody = z.object({
  ...filterFields,
  reason,
  all: z.boolean().optional().meta({ description: 'true: without a filter, select all mail' }),
})

const queueActionRoute = (verb: MailVerb): AnyRoute =>
  route({
    name: `admin-${verb}-mail`,
    summary: `${SUMMARY_TITLES[verb]}: ${MAIL_VERBS[verb].summary}`,
    description:
      'Mail that is being sent is not changed. The response arrives after 2 seconds at most; the action then ' +
      'continues in the background, and `GET /admin/actions/{id}` shows its progress. Repeating the request is safe.',
    method: 'POST',
    paths: [`/admin/queue/${verb}`],
    access: 'operator',
    body: queueActionBody,
    status: 200,
    response: actionResponse,
    errors: ['VALIDATION_ERROR'],
    handle: async (ctx, { body: { reason: givenReason, all, ...given }, headers, address, person }) => {
      const filter = await readQueueFilter(ctx, given)
      if (isRefusal(filter)) return filter
      if (Object.keys(filter).length === 0 && all !== true)
        return invalid([{ path: '', message: 'give a filter, or `all: true`' }])
      const started = await beginAction(ctx, {
        verb,
        filter,
        reason: givenReason ?? MAIL_VERBS[verb].defaultReason,
        by: operatorName({ headers, address, person }),
      })
      await continueAction(ctx, started.id, ACTION_WAIT_MS)
      return respondWithAction((await findAction(ctx.db, started.id)) ?? started)
    },
  })

const SUMMARY_TITLES: Readonly<Record<MailVerb, string>> = {
  retry: 'Retry mail now',
  drop: 'Drop mail',
  bounce: 'Drop mail with a bounce',
}

function respondWithAction(action: OperatorAction): ApiResponse {
  const message =
    action.state === 'done'
      ? `${countText(action.moved, 'recipient was', 'recipients were')} changed.`
      : `${countText(action.moved, 'recipient was', 'recipients were')} changed; the action continues.`
  return { body: { success: true, message, data: presentAction(action) } }
}

const listOperatorActions = route({
  name: 'admin-list-actions',
  summary: 'List the actions of operators, newest first',
  method: 'GET',
  paths: ['/admin/actions'],
  access: 'operator',
  query: z.object({
    limit: paging.shape.limit,
    cursor: paging.shape.cursor,
    before: z.string().optional().meta({ description: 'the id of an action: list older ones' }),
  }),
  status: 200,
  response: envelope(z.object({ actions: z.array(actionSchema), ...nextCursorField })),
  errors: ['VALIDATION_ERROR'],
  handle: async (ctx, request) => {
    const { before } = request.query
    const page = openPage(ctx, 'admin-list-actions', request)
    if (isRefusal(page)) return page
    if (before !== undefined && !isUuid(before))
      return invalid([{ path: 'before', message: 'is not the id of an action' }])
    const { items, next } = await listActions(ctx.db, { ...page, before: before ?? null })
    const data = { actions: items.map(presentAction), ...nextCursor(next, page) }
    return { body: { success: true, message: `${countText(items.length, 'action')}.`, data } }
  },
})

const getOperatorAction = route({
  name: 'admin-get-action',
  summary: 'Get an action and its progress',
  method: 'GET',
  paths: ['/admin/actions/:id'],
  access: 'operator',
  params: z.object({ id: z.string() }),
  status: 200,
  response: actionResponse,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { params: { id } }) => {
    const action = isUuid(id) ? await findAction(ctx.db, id) : null
    return action === null
      ? refuse('NOT_FOUND', 'There is no such action. Check the id in the response that started it.')
      : respondWithAction(action)
  },
})

const explain = route({
  name: 'admin-explain-email',
  summary: 'Explain why a message of any workspace is where it is',
  method: 'GET',
  paths: ['/admin/emails/explain/:id'],
  access: 'operator',
  params: z.object({ id: z.string() }),
  status: 200,
  response: explanationResponse,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { params }) => {
    const id = messageIdOf(params.id)
    const { retryScale, reconcileSeconds, shapingFile } = ctx.config
    const deps = { ...ctx, retryScale, reconcileSeconds, shapingFile }
    const found = id === null ? null : await explainMessage(deps, null, id, new Date(ctx.clock.now()))
    return found === null
      ? refuse('NOT_FOUND', 'There is no such email. Search for it with search-emails.')
      : { body: presentExplanation(found) }
  },
})

export const ADMIN_QUEUE_ROUTES: readonly AnyRoute[] = [
  counts,
  list,
  queueActionRoute('retry'),
  queueActionRoute('drop'),
  queueActionRoute('bounce'),
  listOperatorActions,
  getOperatorAction,
  explain,
]
