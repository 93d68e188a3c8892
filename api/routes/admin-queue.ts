/**
 * The operator's view of all queues: what is open, counted and listed by what it has in common; made due, dropped or given up, as an action
 * that goes on by itself; and why any message is where it is. The command line does the same (`mailstead queue`, `mailstead explain`).
 */
import type { IncomingHttpHeaders } from 'node:http'
import { z, type ZodType } from 'zod'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { hexOf, isUuid, messageIdOf } from '#src/platform/id.ts'
import { explainMessage } from '#src/messages/explain.ts'
import {
  COUNTED_BY_NAMES,
  countOpen,
  cursorText,
  listOpen,
  readCursor,
  type OpenRecipient,
  type QueueFilter,
} from '#src/messages/queue-view.ts'
import { STATES } from '#src/messages/state.ts'
import { advance, beginAction, MAIL_VERBS, type MailVerb } from '#src/operator/actions.ts'
import { FILTER_FIELDS, readFilter, type FilterField, type GivenFilter } from '#src/operator/filter.ts'
import { findAction, listActions, type Action } from '#src/operator/audit-log.ts'
import { TIER_NAMES } from '#src/queue/tiers.ts'
import type { ApiContext } from '#api/http/context.ts'
import { paging } from '#api/http/paging.ts'
import { route, type Answer, type AnyRoute } from '#api/http/route.ts'
import { enveloped, moment } from '#api/http/answer-shapes.ts'
import { explanationAnswer, presentExplanation } from './email-gates.ts'

const LONGEST = 255
const MOST_GROUPS = 1000
/** An action that is done by then is answered as done. */
const WAIT_MS = 2000

const field = (name: FilterField): ZodType<string | undefined> =>
  z.string().min(1, 'is empty').max(LONGEST, 'is too long').optional().meta({ description: FILTER_FIELDS[name] })
const filterFields = Object.fromEntries(
  (Object.keys(FILTER_FIELDS) as FilterField[]).map((name) => [name, field(name)]),
) as Record<FilterField, ZodType<string | undefined>>

/** Who says that he is the operator, for the record. */
export function operatorName(headers: IncomingHttpHeaders, address: string): string {
  const said = headers['x-operator']
  const name = typeof said === 'string' && /^[\x20-\x7e]{1,100}$/.test(said) ? said : 'operator'
  return `${name}, from ${address === '' ? 'an unknown address' : address}`
}

async function filterOf(ctx: ApiContext, given: GivenFilter): Promise<QueueFilter | Refusal> {
  const read = await readFilter(given, { db: ctx.db, nowMs: ctx.clock.now() })
  return read.ok ? read.filter : invalid(read.details)
}

function isRefused(found: QueueFilter | Refusal): found is Refusal {
  return 'error' in found
}

const NO_CURSOR = invalid([{ path: 'cursor', message: 'is no cursor: use `next` of an earlier answer' }])
const count = z.int().min(0)
const tier = z.enum(TIER_NAMES as [(typeof TIER_NAMES)[number], ...typeof TIER_NAMES])
const state = z.enum(Object.keys(STATES) as [keyof typeof STATES, ...(keyof typeof STATES)[]])
const openShape = z
  .object({
    email_id: z.string(),
    recipient: z.string(),
    domain: z.string(),
    workspace_id: z.uuid(),
    tier,
    state,
    due_at: moment,
    tries: count,
    reason: z.string().nullable(),
  })
  .meta({ id: 'OpenRecipient' })

const list = route({
  name: 'admin-list-queue',
  summary: 'Open recipients of all workspaces, soonest due first',
  method: 'GET',
  paths: ['/admin/queue'],
  access: 'operator',
  query: z.object({
    ...filterFields,
    limit: paging.shape.limit,
    cursor: z.string().max(LONGEST).optional().meta({ description: '`next` of an earlier answer' }),
  }),
  status: 200,
  answer: enveloped(z.object({ recipients: z.array(openShape), next: z.string().nullable() })),
  errors: ['VALIDATION_ERROR'],
  handle: async (ctx, { query: { limit, cursor: text, ...given } }) => {
    const cursor = text === undefined ? null : readCursor(text)
    if (text !== undefined && cursor === null) return NO_CURSOR
    const filter = await filterOf(ctx, given)
    if (isRefused(filter)) return filter
    const { open, next } = await listOpen(ctx.db, filter, { limit, cursor })
    const data = { recipients: open.map(presentOpen), next: next === null ? null : cursorText(next) }
    return { body: { success: true, message: `${open.length} recipients.`, data } }
  },
})

function presentOpen(one: OpenRecipient): Record<string, unknown> {
  return {
    email_id: `em_${hexOf(one.messageId)}`,
    recipient: one.address,
    domain: one.domain,
    workspace_id: one.workspaceId,
    tier: one.tier,
    state: one.state,
    due_at: one.dueAt.toISOString(),
    tries: one.tries,
    reason: one.reason,
  }
}

const counts = route({
  name: 'admin-count-queue',
  summary: 'How much is open, by site, recipient domain, workspace, campaign, tier, state or age; the largest first',
  method: 'GET',
  paths: ['/admin/queue/counts'],
  access: 'operator',
  query: z.object({ ...filterFields, by: z.enum(COUNTED_BY_NAMES).default('tier') }),
  status: 200,
  answer: enveloped(
    z.object({
      by: z.enum(COUNTED_BY_NAMES),
      counts: z.array(z.object({ name: z.string(), count, oldest_due_at: moment })),
    }),
  ),
  errors: ['VALIDATION_ERROR'],
  handle: async (ctx, { query: { by, ...given } }) => {
    const filter = await filterOf(ctx, given)
    if (isRefused(filter)) return filter
    const found = await countOpen(ctx.db, filter, by, MOST_GROUPS)
    const shown = found.map((one) => ({
      name: one.name,
      count: one.count,
      oldest_due_at: one.oldestDueAt.toISOString(),
    }))
    return { body: { success: true, message: `${found.length} groups.`, data: { by, counts: shown } } }
  },
})

const actionShape = z
  .object({
    id: z.uuid(),
    verb: z.string(),
    subject: z.record(z.string(), z.string()),
    reason: z.string(),
    by: z.string(),
    state: z.enum(['running', 'done']),
    moved: count.meta({ description: 'recipients that were changed' }),
    seen: count.meta({ description: 'recipients that were looked at: how far it is' }),
    began_at: moment,
    ended_at: moment.nullable(),
  })
  .meta({ id: 'OperatorAction' })
const actionAnswer = enveloped(actionShape)

function presentAction({ beganAt, endedAt, ...rest }: Action): Record<string, unknown> {
  return { ...rest, began_at: beganAt.toISOString(), ended_at: endedAt?.toISOString() ?? null }
}

const reason = z.string().trim().max(500, 'is too long').optional().meta({ description: 'why; kept with the action' })
const actBody = z.object({
  ...filterFields,
  reason,
  all: z.boolean().optional().meta({ description: 'where no filter is given: all mail is meant' }),
})

const actOn = (verb: MailVerb): AnyRoute =>
  route({
    name: `admin-${verb}-mail`,
    summary: `${SUMMARIES[verb]}: ${MAIL_VERBS[verb].summary}`,
    description:
      'Mail that is being sent this moment is left alone. The answer comes after 2 seconds at most; what is not done by then ' +
      'goes on, and `GET /admin/actions/{id}` says how far it is. To do it again changes nothing twice.',
    method: 'POST',
    paths: [`/admin/queue/${verb}`],
    access: 'operator',
    body: actBody,
    status: 200,
    answer: actionAnswer,
    errors: ['VALIDATION_ERROR'],
    handle: async (ctx, { body: { reason: why, all, ...given }, headers, address }) => {
      const filter = await filterOf(ctx, given)
      if (isRefused(filter)) return filter
      if (Object.keys(filter).length === 0 && all !== true)
        return invalid([{ path: '', message: 'say which mail is meant, or `all: true`' }])
      const begun = await beginAction(ctx, {
        verb,
        filter,
        reason: why ?? MAIL_VERBS[verb].usualReason,
        by: operatorName(headers, address),
      })
      await advance(ctx, begun.id, WAIT_MS)
      return tellAction((await findAction(ctx.db, begun.id)) ?? begun)
    },
  })

const SUMMARIES: Readonly<Record<MailVerb, string>> = {
  retry: 'Retry mail now',
  drop: 'Drop mail',
  bounce: 'Drop mail with a bounce',
}

function tellAction(action: Action): Answer {
  const message =
    action.state === 'done'
      ? `${action.moved} recipients were changed.`
      : `${action.moved} recipients were changed; it goes on.`
  return { body: { success: true, message, data: presentAction(action) } }
}

const showActions = route({
  name: 'admin-list-actions',
  summary: 'What operators changed, the newest first',
  method: 'GET',
  paths: ['/admin/actions'],
  access: 'operator',
  query: z.object({
    limit: paging.shape.limit,
    before: z.string().optional().meta({ description: 'the id of an action' }),
  }),
  status: 200,
  answer: enveloped(z.object({ actions: z.array(actionShape) })),
  errors: ['VALIDATION_ERROR'],
  handle: async (ctx, { query: { limit, before } }) => {
    if (before !== undefined && !isUuid(before)) return invalid([{ path: 'before', message: 'is no id of an action' }])
    const actions = await listActions(ctx.db, { before: before ?? null, limit })
    return {
      body: { success: true, message: `${actions.length} actions.`, data: { actions: actions.map(presentAction) } },
    }
  },
})

const showAction = route({
  name: 'admin-get-action',
  summary: 'How far an action is',
  method: 'GET',
  paths: ['/admin/actions/:id'],
  access: 'operator',
  params: z.object({ id: z.string() }),
  status: 200,
  answer: actionAnswer,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { params: { id } }) => {
    const action = isUuid(id) ? await findAction(ctx.db, id) : null
    return action === null ? refuse('NOT_FOUND', 'There is no such action.') : tellAction(action)
  },
})

const explain = route({
  name: 'admin-explain-email',
  summary: 'Why a message of any workspace is where it is',
  method: 'GET',
  paths: ['/admin/emails/explain/:id'],
  access: 'operator',
  params: z.object({ id: z.string() }),
  status: 200,
  answer: explanationAnswer,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { params }) => {
    const id = messageIdOf(params.id)
    const { retryScale, reconcileSeconds } = ctx.config
    const found =
      id === null
        ? null
        : await explainMessage({ ...ctx, retryScale, reconcileSeconds }, null, id, new Date(ctx.clock.now()))
    return found === null ? refuse('NOT_FOUND', 'There is no such email.') : { body: presentExplanation(found) }
  },
})

export const ADMIN_QUEUE_ROUTES: readonly AnyRoute[] = [
  counts,
  list,
  actOn('retry'),
  actOn('drop'),
  actOn('bounce'),
  showActions,
  showAction,
  explain,
]
