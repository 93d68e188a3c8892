/**
 * Reviews of the suppression list by today's rules, as `mailstead bounces review` makes them. This process does not
 * load the code that classifies bounces. It asks an inbound process and waits for the end as long as an HTTP client
 * waits; a review that takes longer goes on, and is found by its id. Without an inbound process it waits for one.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { refuse } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import { countText } from '#src/platform/plural.ts'
import { recordAction } from '#src/operator/action-log.ts'
import { hasProcess } from '#src/operator/nodes.ts'
import {
  findReview,
  hasReviewEnded,
  listReviews,
  MAX_REVIEW_ENTRIES,
  requestReview,
  type ReviewProgress,
  type SuppressionReview,
} from '#src/suppression/suppression-reviews.ts'
import type { ApiContext } from '#api/http/context.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { pageData, paging } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { envelope, pagedList, timestamp } from '#api/http/response-schemas.ts'
import { route, type ApiResponse, type AnyRoute } from '#api/http/route.ts'
import { operatorName } from './admin-queue.ts'

const POLL_INTERVAL_MS = 200
const MAX_WAIT_MS = 25_000

const entrySchema = z
  .object({
    workspace_id: z.uuid(),
    email: z.string(),
    rule: z.string().meta({ description: 'the rule that added the address, with its version' }),
    reply: z.string().meta({ description: 'the reply of the receiver that is stored with the entry' }),
    class: z.string().meta({ description: 'the class of the bounce by the rules of today' }),
  })
  .meta({ id: 'WrongSuppression' })
const progressFields = {
  id: z.uuid(),
  state: z
    .enum(['waiting', 'running', 'done'])
    .meta({ description: 'waiting: no inbound process has begun; without one it waits for a day' }),
  lift: z.boolean().meta({ description: 'whether the entries are removed from the suppression list' }),
  requested_by: z
    .string()
    .nullable()
    .meta({ description: 'the operator, as far as known; null: requested by an earlier version' }),
  total: z
    .int()
    .min(0)
    .nullable()
    .meta({ description: 'entries of the list to check, counted at the beginning; null: not counted yet' }),
  checked: z.int().min(0).meta({ description: 'entries of the list that were checked so far' }),
  count: z
    .int()
    .min(0)
    .meta({ description: 'entries that would not be made today; with `lift` those that were removed' }),
  requested_at: timestamp.meta({ description: 'when it was requested' }),
  ended_at: timestamp.nullable().meta({ description: 'null: it has not ended' }),
}
const progressSchema = z.object(progressFields).meta({ id: 'SuppressionReviewProgress' })
const reviewResponse = envelope(
  z.object({
    ...progressFields,
    entries: z.array(entrySchema).meta({ description: `the first ${MAX_REVIEW_ENTRIES} of the wrong entries` }),
  }),
).meta({ id: 'SuppressionReview' })

const body = z.object({
  lift: z
    .boolean()
    .default(false)
    .meta({ description: 'true: remove the entries from the suppression list. By default they are only listed' }),
  wait: z.boolean().default(true).meta({ description: 'false: return immediately; get the result by its id' }),
})

const start = route({
  name: 'admin-review-suppressions',
  summary: "Check the suppressions of all workspaces by today's rules, and remove those that were a mistake",
  description:
    'An inbound process reviews the hard bounces on the suppression lists. The answer comes within 25 seconds; a ' +
    'longer review goes on. Removals are in the audit log, and in the history of contacts, with their reason.',
  method: 'POST',
  paths: ['/admin/suppression-reviews'],
  access: 'operator',
  body,
  status: 200,
  response: reviewResponse,
  errors: ['VALIDATION_ERROR'],
  handle: async (ctx, { body: { lift, wait }, headers, address, closeSignal, person }) => {
    const by = operatorName({ headers, address, person })
    const id = await requestReview(ctx, { isLifting: lift, by })
    const subject = { suppression_review: id, lift: String(lift) }
    await recordAction(ctx, { verb: 'review', subject, reason: '', by }, 'done')
    if (wait) await awaitEnd(ctx, id, closeSignal())
    return (await respondWithReview(ctx, id)) ?? NO_REVIEW
  },
})

const list = route({
  name: 'admin-list-suppression-reviews',
  summary: 'List the reviews of suppressions of the last day, the newest first, without their entries',
  method: 'GET',
  paths: ['/admin/suppression-reviews'],
  access: 'operator',
  query: paging,
  status: 200,
  response: pagedList('reviews', progressSchema),
  errors: ['VALIDATION_ERROR'],
  handle: async (ctx, request) => {
    const page = openPage(ctx, 'admin-list-suppression-reviews', request)
    if (isRefusal(page)) return page
    const found = await listReviews(ctx.db, page)
    const data = pageData('reviews', { ...found, items: found.items.map(presentProgress) }, page)
    return { body: { success: true, message: `${countText(found.total, 'review')}.`, data } }
  },
})

const show = route({
  name: 'admin-get-suppression-review',
  summary: 'Get the progress and the result of a review of suppressions, stored for a day',
  method: 'GET',
  paths: ['/admin/suppression-reviews/:id'],
  access: 'operator',
  params: z.object({ id: z.string() }),
  status: 200,
  response: reviewResponse,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { params: { id } }) => (isUuid(id) ? await respondWithReview(ctx, id) : null) ?? NO_REVIEW,
})

const NO_REVIEW = refuse(
  'NOT_FOUND',
  'There is no such review of suppressions. Start another one with admin-review-suppressions.',
)

export const ADMIN_SUPPRESSION_REVIEW_ROUTES: readonly AnyRoute[] = [start, list, show]

/** Returns also when the review takes longer than a client waits, or when no inbound process runs. */
async function awaitEnd({ db }: ApiContext, id: string, closed: AbortSignal): Promise<void> {
  if (!(await hasProcess(db, 'inbound'))) return
  const deadline = performance.now() + MAX_WAIT_MS
  while (performance.now() < deadline && !closed.aborted && !(await hasReviewEnded(db, id)))
    await sleep(POLL_INTERVAL_MS)
}

/** Null when the review does not exist. */
async function respondWithReview({ db }: ApiContext, id: string): Promise<ApiResponse | null> {
  const review = await findReview(db, id)
  if (review === null) return null
  const message = review.state === 'waiting' ? await waitingText(db) : resultText(review)
  return { body: { success: true, message, data: presentReview(review) } }
}

async function waitingText(db: ApiContext['db']): Promise<string> {
  return (await hasProcess(db, 'inbound'))
    ? 'No inbound process has begun yet.'
    : 'No inbound process is running. The review begins when one starts within a day; otherwise it is dropped.'
}

function resultText({ state, seen, found, isLifting }: SuppressionReview): string {
  if (state === 'running') return `${countText(seen, 'suppression')} checked so far.`
  if (found === 0) return 'Today the same addresses would be suppressed.'
  const addresses = countText(found, 'address', 'addresses')
  return isLifting
    ? `${addresses} removed from the suppression list.`
    : `${addresses} would not be suppressed today. To remove them, set lift.`
}

function presentProgress(review: ReviewProgress): z.output<typeof progressSchema> {
  return {
    id: review.id,
    state: review.state,
    lift: review.isLifting,
    requested_by: review.requestedBy,
    total: review.total,
    checked: review.seen,
    count: review.found,
    requested_at: review.requestedAt.toISOString(),
    ended_at: review.endedAt?.toISOString() ?? null,
  }
}

function presentReview(review: SuppressionReview): Record<string, unknown> {
  return {
    ...presentProgress(review),
    entries: review.entries.map(({ workspaceId, address, rule, reply, reading }) => ({
      workspace_id: workspaceId,
      email: address,
      rule,
      reply,
      class: reading,
    })),
  }
}
