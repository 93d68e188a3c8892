/**
 * Messages of the workspace: found, looked at, explained. What became of one: its status, each recipient with its attempts, and the
 * timeline of events (`email-view.ts`); why it is where it is: every gate in order (`email-gates.ts`). Another workspace's is not there.
 */
import { z } from 'zod'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { hexOf, messageIdOf } from '#src/platform/id.ts'
import { parseAddress } from '#src/mail/address.ts'
import { explainMessage } from '#src/messages/explain.ts'
import { readMessage } from '#src/messages/read.ts'
import { countMessages, searchMessages, type SearchFilter, type SearchResult } from '#src/messages/search.ts'
import { TIER_NAMES, TIERS, type Tier } from '#src/queue/tiers.ts'
import { readMoment } from '#src/platform/time-input.ts'
import type { ApiContext } from '#api/http/context.ts'
import { paging } from '#api/http/paging.ts'
import { route, type Answer, type AnyRoute } from '#api/http/route.ts'
import { enveloped } from '#api/http/answer-shapes.ts'
import { time } from '#api/http/time-fields.ts'
import { explanationAnswer, presentExplanation } from './email-gates.ts'
import { emailAnswer, foundShape, presentFound, presentMessage, status } from './email-view.ts'

const byId = z.object({
  id: z.string().min(1, 'is required').meta({ description: 'msg_…, em_…, scheduled_msg_… or the uuid' }),
})

const GET = {
  summary: 'Status, recipients, attempts and timeline of one message',
  method: 'GET',
  access: 'any',
  status: 200,
  answer: emailAnswer,
  errors: ['NOT_FOUND'],
} as const
const getEmail = route({
  ...GET,
  name: 'get-email',
  paths: ['/public/emails/get-email'],
  query: byId,
  handle: (ctx, { caller, query }) => show(ctx, caller.workspaceId, query.id),
})
const getEmailByPath = route({
  ...GET,
  name: 'get-email-by-path',
  paths: ['/public/emails/get-email/:id'],
  params: byId,
  handle: (ctx, { caller, params }) => show(ctx, caller.workspaceId, params.id),
})

const EXPLAIN = {
  summary: 'Why a message is where it is: every gate in order, which one holds it, by which rule and until when',
  method: 'GET',
  access: 'any',
  status: 200,
  answer: explanationAnswer,
  errors: ['NOT_FOUND'],
} as const
const explain = route({
  ...EXPLAIN,
  name: 'explain-email',
  paths: ['/public/emails/explain'],
  query: byId,
  handle: (ctx, { caller, query }) => explainOne(ctx, caller.workspaceId, query.id),
})
const explainByPath = route({
  ...EXPLAIN,
  name: 'explain-email-by-path',
  paths: ['/public/emails/explain/:id'],
  params: byId,
  handle: (ctx, { caller, params }) => explainOne(ctx, caller.workspaceId, params.id),
})

const aliasOf = (name: string): { description: string } => ({ description: `alias of ${name}` })
const LONGEST = 998
const part = z.string().trim().min(1, 'is empty').max(LONGEST, 'is too long')

/** An address or a domain, in the form that is stored. */
const mailbox = part.transform((written, sink) => {
  const at = written.lastIndexOf('@')
  const parsed = parseAddress(at > 0 ? written : `any@${written.slice(at + 1)}`)
  if (!parsed.ok) sink.addIssue({ code: 'custom', message: 'is no address and no domain' })
  return parsed.ok ? (at > 0 ? parsed.address.address : parsed.address.domain) : z.NEVER
})
/** `from` and `to` are asked for as times by some and as addresses by others; no text is both. */
const either = part.transform((written, sink): Date | string => {
  const read = readMoment(written, 'UTC')
  if (read !== null) return read
  const found = mailbox.safeParse(written)
  if (!found.success) sink.addIssue({ code: 'custom', message: 'is no time and no address' })
  return found.data ?? z.NEVER
})
const tier = z
  .string()
  .transform((name, sink): Tier => {
    const found = TIER_NAMES.find((one) => one === name || TIERS[one].queue === name)
    if (found === undefined) sink.addIssue({ code: 'custom', message: `must be one of ${TIER_NAMES.join(', ')}` })
    return found ?? z.NEVER
  })
  .meta({ enum: [...TIER_NAMES, 'async'] })
const cursor = z.string().transform((written, sink) => {
  const id = messageIdOf(written)
  if (id === null) sink.addIssue({ code: 'custom', message: 'is no cursor: use `next` of an earlier answer' })
  return id ?? z.NEVER
})

const query = paging.extend({
  recipient: mailbox.optional().meta({ description: 'to, cc or bcc: an address, or a domain for all of it' }),
  to: either.optional().meta({ description: 'alias of recipient, or, where it is a time, of before' }),
  sender: mailbox.optional().meta({ description: 'an address, or a domain' }),
  from: either.optional().meta({ description: 'alias of sender, or, where it is a time, of after' }),
  subject: part.optional().meta({ description: 'a part of it; case does not matter' }),
  tag: part.optional(),
  status: status.optional(),
  tier: tier.optional(),
  priority: tier.optional().meta(aliasOf('tier')),
  after: time.optional().meta({ description: 'accepted since then' }),
  before: time.optional(),
  cursor: cursor.optional().meta({ description: '`next` of an earlier answer; instead of page' }),
})
/** Counting pages costs what the pages before have cost. */
const DEEPEST = 10_000

const count = z.int().min(0)
const listAnswer = enveloped(
  z.object({
    emails: z.array(foundShape),
    page: count,
    limit: count,
    total: count,
    totalPages: count,
    next: z.string().nullable(),
    total_is_exact: z.boolean(),
    meta: z.object({ total: count, page: count, limit: count, has_more: z.boolean() }),
  }),
)

const search = route({
  name: 'search-emails',
  summary: 'Find messages, the newest first',
  description:
    'The answer has `next`, a cursor for what follows, and is never late: a search that would have to look at very many ' +
    'messages answers what it has found, perhaps nothing, with `next` to go on. `total` is counted up to 10,000 and where counting is ' +
    'cheap; else it is what is known, and `total_is_exact` is false.',
  method: 'GET',
  paths: ['/public/emails', '/public/emails/get-emails'],
  access: 'any',
  query,
  status: 200,
  answer: listAnswer,
  errors: ['VALIDATION_ERROR'],
  handle: async (ctx, { caller, query: given }) => {
    const skip = given.cursor === undefined ? (given.page - 1) * given.limit : 0
    if (skip + given.limit > DEEPEST)
      return invalid([{ path: 'page', message: `pages end at the ${DEEPEST}th email; go on with cursor` }])
    const order = {
      workspaceId: caller.workspaceId,
      filter: filterOf(given),
      cursor: given.cursor ?? null,
      skip,
      limit: given.limit,
    }
    const [found, counted] = await Promise.all([searchMessages(ctx.db, order), countMessages(ctx.db, order)])
    return {
      body: {
        success: true,
        message: `${found.messages.length} emails.`,
        data: pageOf(found, counted, { ...given, skip }),
      },
    }
  },
})

const NO_EMAIL = refuse('NOT_FOUND', 'There is no such email.')

export const EMAIL_ROUTES: readonly AnyRoute[] = [search, getEmail, getEmailByPath, explain, explainByPath]

async function show(ctx: ApiContext, workspaceId: string, name: string): Promise<Answer | Refusal> {
  const id = messageIdOf(name)
  const message = id === null ? null : await readMessage(ctx.db, workspaceId, id)
  return message === null ? NO_EMAIL : { body: presentMessage(message) }
}

async function explainOne(ctx: ApiContext, workspaceId: string, name: string): Promise<Answer | Refusal> {
  const id = messageIdOf(name)
  const { retryScale, reconcileSeconds } = ctx.config
  const means = { ...ctx, retryScale, reconcileSeconds }
  const found = id === null ? null : await explainMessage(means, workspaceId, id, new Date(ctx.clock.now()))
  return found === null ? NO_EMAIL : { body: presentExplanation(found) }
}

function filterOf(given: z.output<typeof query>): SearchFilter {
  const [from, to] = [given.from ?? null, given.to ?? null]
  return {
    recipient: given.recipient ?? (typeof to === 'string' ? to : null),
    sender: given.sender ?? (typeof from === 'string' ? from : null),
    subject: given.subject ?? null,
    tag: given.tag ?? null,
    status: given.status ?? null,
    tier: given.tier ?? given.priority ?? null,
    after: given.after ?? (from instanceof Date ? from : null),
    before: given.before ?? (to instanceof Date ? to : null),
  }
}

type Counted = Awaited<ReturnType<typeof countMessages>>
type Asked = z.output<typeof query> & { readonly skip: number }

function pageOf(
  { messages, next }: SearchResult,
  counted: Counted,
  { page, limit, skip }: Asked,
): Record<string, unknown> {
  const total = counted?.total ?? skip + messages.length + (next === null ? 0 : 1)
  return {
    emails: messages.map(presentFound),
    page,
    limit,
    total,
    totalPages: Math.ceil(total / limit),
    next: next === null ? null : `em_${hexOf(next)}`,
    total_is_exact: counted?.isExact ?? false,
    meta: { total, page, limit, has_more: next !== null },
  }
}
