/**
 * Messages of the workspace: search, get and explain. `email-view.ts` has the status, each recipient with its
 * attempts, and the event timeline; `email-explanation.ts` has the gates that decide when it is sent. A message of
 * another workspace is not found.
 */
import { z } from 'zod'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { hexOf, messageIdOf } from '#src/platform/id.ts'
import { parseAddress } from '#src/mail/address.ts'
import { readSendingPeriod } from '#src/campaigns/sending-period.ts'
import { explainMessage } from '#src/messages/explain.ts'
import { readMessage } from '#src/messages/read.ts'
import { countMessages } from '#src/messages/search-count.ts'
import { searchMessages, type SearchFilter, type SearchResult } from '#src/messages/search.ts'
import { TIER_NAMES, TIERS, type Tier } from '#src/queue/tiers.ts'
import { parseTime } from '#src/platform/time-input.ts'
import type { ApiContext } from '#api/http/context.ts'
import { openPage, type ListPage } from '#api/http/list-cursor.ts'
import { nextCursor, paging } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { route, type ApiResponse, type AnyRoute } from '#api/http/route.ts'
import { envelope, nextCursorField } from '#api/http/response-schemas.ts'
import { time } from '#api/http/time-fields.ts'
import { countText } from '#src/platform/plural.ts'
import { explanationResponse, presentExplanation } from './email-explanation.ts'
import { emailResponse, foundEmailSchema, presentFoundEmail, presentMessage, emailStatus } from './email-view.ts'
import { oneOfText } from '#src/platform/choice-text.ts'

const byId = z.object({
  id: z.string().min(1, 'is required').meta({ description: 'msg_…, em_…, scheduled_msg_… or the uuid' }),
})

const GET_ROUTE = {
  summary: 'Get a message: status, recipients, attempts and event timeline',
  method: 'GET',
  access: 'any',
  status: 200,
  response: emailResponse,
  errors: ['NOT_FOUND'],
} as const
const getEmail = route({
  ...GET_ROUTE,
  name: 'get-email',
  paths: ['/public/emails/get-email'],
  query: byId,
  handle: (ctx, { caller, query }) => respondWithEmail(ctx, caller.workspaceId, query.id),
})
const getEmailByPath = route({
  ...GET_ROUTE,
  name: 'get-email-by-path',
  paths: ['/public/emails/get-email/:id'],
  params: byId,
  handle: (ctx, { caller, params }) => respondWithEmail(ctx, caller.workspaceId, params.id),
})

const EXPLAIN_ROUTE = {
  summary:
    'Explain why a message is where it is: every gate in order, which one holds it, by which rule and until when',
  method: 'GET',
  access: 'any',
  status: 200,
  response: explanationResponse,
  errors: ['NOT_FOUND'],
} as const
const explain = route({
  ...EXPLAIN_ROUTE,
  name: 'explain-email',
  paths: ['/public/emails/explain'],
  query: byId,
  handle: (ctx, { caller, query }) => respondWithExplanation(ctx, caller.workspaceId, query.id),
})
const explainByPath = route({
  ...EXPLAIN_ROUTE,
  name: 'explain-email-by-path',
  paths: ['/public/emails/explain/:id'],
  params: byId,
  handle: (ctx, { caller, params }) => respondWithExplanation(ctx, caller.workspaceId, params.id),
})

const aliasOf = (name: string): { description: string } => ({ description: `alias of ${name}` })
const MAX_LENGTH = 998
const searchText = z.string().trim().min(1, 'is empty').max(MAX_LENGTH, 'is too long')

/** An address or a domain, in its stored form. */
const mailboxFilter = searchText.transform((text, sink) => {
  const at = text.lastIndexOf('@')
  const parsed = parseAddress(at > 0 ? text : `any@${text.slice(at + 1)}`)
  if (!parsed.ok) sink.addIssue({ code: 'custom', message: 'is neither an email address nor a domain' })
  return parsed.ok ? (at > 0 ? parsed.address.address : parsed.address.domain) : z.NEVER
})
/** Some clients send times in `from` and `to`, others send addresses; no text is both. */
const timeOrMailbox = searchText.transform((text, sink): Date | string => {
  const parsedTime = parseTime(text, 'UTC')
  if (parsedTime !== null) return parsedTime
  const found = mailboxFilter.safeParse(text)
  if (!found.success) sink.addIssue({ code: 'custom', message: 'is neither a time nor an email address' })
  return found.data ?? z.NEVER
})
const tierFilter = z
  .string()
  .transform((name, sink): Tier => {
    const found = TIER_NAMES.find((one) => one === name || TIERS[one].queue === name)
    if (found === undefined) sink.addIssue({ code: 'custom', message: oneOfText(TIER_NAMES, name) })
    return found ?? z.NEVER
  })
  .meta({ enum: [...TIER_NAMES, 'async'] })

const searchQuery = paging.extend({
  recipient: mailboxFilter
    .optional()
    .meta({ description: 'in to, cc or bcc: an address, or a domain for all of its addresses' }),
  to: timeOrMailbox.optional().meta({ description: 'alias of recipient or, if it is a time, of before' }),
  sender: mailboxFilter.optional().meta({ description: 'an address, or a domain' }),
  from: timeOrMailbox.optional().meta({ description: 'alias of sender or, if it is a time, of after' }),
  subject: searchText.optional().meta({
    description:
      'a part of the subject; case does not matter. Of a campaign or automation as it was written, with its variables',
  }),
  tag: searchText.optional(),
  status: emailStatus.optional(),
  tier: tierFilter.optional(),
  priority: tierFilter.optional().meta(aliasOf('tier')),
  campaign_id: z.uuid('must be the id of a campaign').optional().meta({ description: 'sent by this campaign' }),
  after: time.optional().meta({ description: 'accepted at or after this time' }),
  before: time.optional(),
})
/** The deepest message that page numbers reach: a page costs as much as all pages before it. */
const MAX_PAGE_DEPTH = 10_000

const count = z.int().min(0)
const listResponse = envelope(
  z.object({
    emails: z.array(foundEmailSchema),
    page: count,
    limit: count,
    total: count,
    totalPages: count,
    next: z.string().nullable(),
    ...nextCursorField,
    total_is_exact: z.boolean(),
    meta: z.object({ total: count, page: count, limit: count, has_more: z.boolean() }),
  }),
)

const search = route({
  name: 'search-emails',
  summary: 'Search messages, newest first',
  description:
    '`next` of the response is a cursor, too, which is not bound to the filter. A search examines a limited number ' +
    'of messages: the response has what it found, perhaps nothing, and `next` continues it. `total` is counted up ' +
    'to 10,000 and where counting is cheap; otherwise it is a lower bound, and `total_is_exact` is false.',
  method: 'GET',
  paths: ['/public/emails', '/public/emails/get-emails'],
  access: 'any',
  query: searchQuery,
  status: 200,
  response: listResponse,
  errors: ['VALIDATION_ERROR'],
  handle: async (ctx, request) => {
    const { caller, query: given } = request
    const page = openPage(ctx, 'search-emails', request, messageIdOf)
    if (isRefusal(page)) return page
    const skip = page.at === undefined ? (page.page - 1) * page.limit : 0
    if (skip + given.limit > MAX_PAGE_DEPTH)
      return invalid([{ path: 'page', message: `pages end at the ${MAX_PAGE_DEPTH}th email; continue with cursor` }])
    const searched = {
      workspaceId: caller.workspaceId,
      filter: await narrowToCampaign(ctx, caller.workspaceId, searchFilterOf(given)),
      cursor: page.at?.key[0] ?? null,
      skip,
      limit: given.limit,
    }
    const [found, matching] = await Promise.all([searchMessages(ctx.db, searched), countMessages(ctx.db, searched)])
    const subjects = await ctx.subjects.render(found.messages)
    const messages = found.messages.map((one) => ({ ...one, subject: subjects.get(one.id) ?? one.subject }))
    return {
      body: {
        success: true,
        message: `${countText(messages.length, 'email')}.`,
        data: presentPage({ ...found, messages }, matching, page),
      },
    }
  },
})

/** No message is older. */
const NEVER = new Date(0)
const NO_EMAIL = refuse('NOT_FOUND', 'There is no such email. Search for it with search-emails.')

export const EMAIL_ROUTES: readonly AnyRoute[] = [search, getEmail, getEmailByPath, explain, explainByPath]

async function respondWithEmail(ctx: ApiContext, workspaceId: string, name: string): Promise<ApiResponse | Refusal> {
  const id = messageIdOf(name)
  const message = id === null ? null : await readMessage(ctx.db, workspaceId, id)
  if (message === null) return NO_EMAIL
  const subjects = await ctx.subjects.render([message])
  return { body: presentMessage({ ...message, subject: subjects.get(message.id) ?? message.subject }) }
}

async function respondWithExplanation(
  ctx: ApiContext,
  workspaceId: string,
  name: string,
): Promise<ApiResponse | Refusal> {
  const id = messageIdOf(name)
  const { retryScale, reconcileSeconds, shapingFile } = ctx.config
  const deps = { ...ctx, retryScale, reconcileSeconds, shapingFile }
  const found = id === null ? null : await explainMessage(deps, workspaceId, id, new Date(ctx.clock.now()))
  return found === null ? NO_EMAIL : { body: presentExplanation(found) }
}

function searchFilterOf(given: z.output<typeof searchQuery>): SearchFilter {
  const [from, to] = [given.from ?? null, given.to ?? null]
  return {
    recipient: given.recipient ?? (typeof to === 'string' ? to : null),
    sender: given.sender ?? (typeof from === 'string' ? from : null),
    subject: given.subject ?? null,
    tag: given.tag ?? null,
    status: given.status ?? null,
    tier: given.tier ?? given.priority ?? null,
    campaignId: given.campaign_id ?? null,
    after: given.after ?? (from instanceof Date ? from : null),
    before: given.before ?? (to instanceof Date ? to : null),
  }
}

/** With a campaign: only the time when its mail was put into the queue is searched. */
async function narrowToCampaign(ctx: ApiContext, workspaceId: string, filter: SearchFilter): Promise<SearchFilter> {
  if (filter.campaignId === null) return filter
  const sent = await readSendingPeriod(ctx.db, workspaceId, filter.campaignId)
  if (sent === null) return { ...filter, before: NEVER }
  const { after, before } = filter
  return {
    ...filter,
    after: after === null || after < sent.from ? sent.from : after,
    before: before === null || before > sent.to ? sent.to : before,
  }
}

type MessageCount = Awaited<ReturnType<typeof countMessages>>

function presentPage(
  { messages, next }: SearchResult,
  messageCount: MessageCount,
  requested: ListPage,
): Record<string, unknown> {
  const { page, limit, at } = requested
  const before = at === undefined ? (page - 1) * limit : (at?.before ?? 0)
  const total = messageCount?.total ?? before + messages.length + (next === null ? 0 : 1)
  const position = next === null ? null : { key: [next], before: before + messages.length, total: 0 }
  return {
    emails: messages.map(presentFoundEmail),
    page,
    limit,
    total,
    totalPages: Math.ceil(total / limit),
    next: next === null ? null : `em_${hexOf(next)}`,
    ...nextCursor(position, requested),
    total_is_exact: messageCount?.isExact ?? false,
    meta: { total, page, limit, has_more: next !== null },
  }
}
