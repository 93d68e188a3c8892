/**
 * POST /send-email/batch: up to 500 different messages in one request, as `{messages, tier}` or as a bare array whose
 * tier is in the query. Each is accepted or refused on its own; the response lists the results in order. The messages
 * are submitted together, so that they share commits. With an Idempotency-Key each message has its own key below it: a
 * client that repeats an interrupted batch completes it, and no message is sent twice.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { z } from 'zod'
import type { Caller } from '#src/auth/keys.ts'
import { isDatabaseAway } from '#src/stores/db.ts'
import type { RequestDownloads } from '#src/net/file-downloads.ts'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { findStoredResults } from '#src/messages/idempotent-replay.ts'
import { TIER_ALIASES } from '#src/queue/tier-aliases.ts'
import type { Tier } from '#src/queue/tiers.ts'
import { isRefusal, refusalBody, type ErrorSource } from '#api/http/response.ts'
import type { ApiContext } from '#api/http/context.ts'
import { quotaHeaders } from '#api/http/limit-headers.ts'
import { parseWith, type SchemaResult } from '#api/http/request-reader.ts'
import { route, type ApiResponse } from '#api/http/route.ts'
import { batchResponse } from '#api/sending/response-schemas.ts'
import { MESSAGE_REF, sendBody, type SendBody } from '#api/sending/body.ts'
import {
  digestOf,
  idempotencyKeyOf,
  IDEMPOTENCY_MISMATCH,
  send,
  type IdempotencyClaim,
  type SendResult,
} from '#api/sending/send.ts'
import { optionalTier } from '#api/sending/tier.ts'
import { SENDING_ERRORS, sendingPaths } from './send.ts'
import { countText } from '#src/platform/plural.ts'

const MAX_MESSAGES = 500

const WRONG_SHAPE =
  'must be a list of messages: {"messages": [{"from": "…", "to": ["…"], "subject": "…", "html": "…"}]}, ' +
  'or the list alone'
const messageList = z
  .array(
    z
      .unknown()
      .meta(MESSAGE_REF)
      .transform((message) => parseWith(sendBody, message)),
    WRONG_SHAPE,
  )
  .min(1, 'at least one message')
  .max(MAX_MESSAGES, `at most ${MAX_MESSAGES} messages`)
const batchFields = z.object({ messages: messageList, tier: optionalTier }, WRONG_SHAPE)

const LIST = { type: 'array', items: MESSAGE_REF, minItems: 1, maxItems: MAX_MESSAGES }
const OBJECT = {
  type: 'object',
  properties: {
    messages: { ...LIST, description: 'each like the body of a single send' },
    tier: { type: 'string', enum: TIER_ALIASES, description: 'of all messages; overrides the one in the query' },
  },
  required: ['messages'],
  description: 'the messages and their tier',
}

/** An array is the short form of an object with nothing but messages. */
const batchBody = z
  .preprocess((given) => (Array.isArray(given) ? { messages: given as unknown[] } : given), batchFields)
  .meta({ id: 'Batch', anyOf: [OBJECT, { ...LIST, description: 'the messages alone' }] })
const batchQuery = z.object({
  tier: optionalTier.meta({ description: 'of all messages, if the body does not name one; by default normal' }),
})

type Batch = Omit<z.output<typeof batchFields>, 'tier'> & { readonly tier: Tier }

export const sendBatch = route({
  name: 'send-batch',
  summary: `Send up to ${MAX_MESSAGES} different messages, each accepted or refused by itself`,
  method: 'POST',
  paths: sendingPaths('batch'),
  access: 'regular',
  query: batchQuery,
  body: batchBody,
  status: 200,
  response: batchResponse,
  countsQuota: true,
  errors: SENDING_ERRORS,
  handle: async (ctx, { id, caller, query, body: given, headers }) => {
    const body = { messages: given.messages, tier: given.tier ?? query.tier ?? 'normal' }
    const found = idempotencyKeyOf(headers['idempotency-key'])
    if (!found.ok) return found.refusal
    const claims = found.key === null ? null : claimsFor(found.key, await digestBatch(body))
    if (claims !== null && (await isKeyOfAnotherBatch(ctx, caller, claims))) return IDEMPOTENCY_MISMATCH
    const items = body.messages.map((read, i): BatchItem => ({
      caller,
      read,
      tier: body.tier,
      claim: claims?.[i] ?? null,
    }))
    const downloads = ctx.downloads.open(caller.workspaceId)
    const results = await sendAll(ctx, items, downloads).finally(() => downloads.release())
    if (results.every((result) => result === STORE_UNAVAILABLE)) return STORE_UNAVAILABLE
    return respondWithResults(results, { requestId: id, publicUrl: ctx.config.publicUrl })
  },
})

/** The digest of the tier and of the digests of all messages. */
async function digestBatch({ messages, tier }: Batch): Promise<Buffer> {
  const digests: Buffer[] = []
  await forEachInSlices(messages, (message) => digests.push(digestOf('message', message)))
  return digestOf('batch', { tier, messages: Buffer.concat(digests) })
}

/** An idempotency key for each position in a batch. No header can contain the arrow, so no client key is equal. */
function claimsFor(key: string, bodyHash: Buffer): IdempotencyClaim[] {
  return Array.from({ length: MAX_MESSAGES }, (_, i) => ({ key: `${key}→${i}`, bodyHash }))
}

/** Whether the key was used with another batch. */
async function isKeyOfAnotherBatch(
  ctx: ApiContext,
  caller: Caller,
  claims: readonly IdempotencyClaim[],
): Promise<boolean> {
  const found = await findStoredResults(
    ctx.db,
    caller.workspaceId,
    claims.map(({ key }) => key),
    claims[0]?.bodyHash ?? Buffer.alloc(0),
  )
  return [...found.values()].some(({ kind }) => kind === 'mismatch')
}

interface BatchItem {
  readonly caller: Caller
  readonly read: SchemaResult<SendBody>
  readonly tier: Tier
  readonly claim: IdempotencyClaim | null
}

const STORE_UNAVAILABLE = refuse('SERVICE_UNAVAILABLE', 'The service cannot store anything right now. Try again.', 2)

async function sendAll(
  ctx: ApiContext,
  items: readonly BatchItem[],
  downloads: RequestDownloads,
): Promise<(SendResult | Refusal)[]> {
  const started: Promise<SendResult | Refusal>[] = []
  await forEachInSlices(items, (item) => {
    const sent = sendItem(ctx, item, downloads)
    sent.catch(() => undefined) // handled by Promise.all below, when all are started
    started.push(sent)
  })
  return Promise.all(started)
}

const SLICE_SIZE = 25

/** Other requests are handled between the slices. */
async function forEachInSlices<T>(items: readonly T[], work: (item: T) => void): Promise<void> {
  for (let from = 0; from < items.length; from += SLICE_SIZE) {
    items.slice(from, from + SLICE_SIZE).forEach(work)
    await nextTurn()
  }
}

async function sendItem(
  ctx: ApiContext,
  { caller, read, tier, claim }: BatchItem,
  downloads: RequestDownloads,
): Promise<SendResult | Refusal> {
  if (!read.ok) return invalid(read.details)
  try {
    return await send(ctx, caller, { body: read.value, tier, scheduledAt: null, timezone: null, downloads }, claim)
  } catch (error) {
    if (isDatabaseAway(error)) return STORE_UNAVAILABLE // other messages of this batch stay accepted
    throw error
  }
}

function respondWithResults(results: readonly (SendResult | Refusal)[], source: ErrorSource): ApiResponse {
  const sent = results.filter((result): result is SendResult => !isRefusal(result))
  const items = results.map((result, i) =>
    isRefusal(result)
      ? JSON.stringify({ index: i, ...refusalBody(result, source) })
      : `{"index":${i},${result.answer.slice(1)}`,
  )
  const head = JSON.stringify({
    success: true,
    message: `${sent.length} of ${countText(results.length, 'message')} accepted.`,
  }).slice(0, -1)
  const counts = `"total":${results.length},"accepted":${sent.length},"refused":${results.length - sent.length}`
  const body = `${head},"data":{${counts},"results":[${items.join(',')}]}}`
  const isReplay = sent.length > 0 && sent.every((one) => one.isReplay)
  return { body, headers: { ...latestQuota(results), ...(isReplay ? { 'Idempotent-Replayed': 'true' } : {}) } }
}

/** The headers of the result that was counted last: the one with the least left. */
function latestQuota(results: readonly (SendResult | Refusal)[]): Readonly<Record<string, string>> {
  const names = Object.keys(quotaHeaders({ quota: 0, used: 0 }, new Date(0)))
  const remainingOf = ({ headers }: SendResult | Refusal): number => Number(headers?.['X-Quota-Remaining'])
  const latest = results
    .filter(({ headers }) => headers?.['X-Quota-Remaining'] !== undefined)
    .reduce<SendResult | Refusal | null>(
      (least, one) => (least === null || remainingOf(one) < remainingOf(least) ? one : least),
      null,
    )
  return Object.fromEntries(Object.entries(latest?.headers ?? {}).filter(([name]) => names.includes(name)))
}
