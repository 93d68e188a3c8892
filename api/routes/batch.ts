/**
 * POST /send-email/batch: up to 500 different messages in one request. Each is accepted or refused by itself; the answer lists them in
 * order. They are started together, so that they share commits. With an Idempotency-Key each message has a claim of its own under it: a
 * batch that was cut off in the middle is completed by sending it again, and no message goes out twice.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { z } from 'zod'
import type { Caller } from '#src/auth/keys.ts'
import { isDatabaseAway } from '#src/stores/db.ts'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { findClaims } from '#src/messages/idempotent-replay.ts'
import type { Tier } from '#src/queue/tiers.ts'
import { isRefusal, refusalBody } from '#api/http/answer.ts'
import type { ApiContext } from '#api/http/context.ts'
import { readPart, type Part } from '#api/http/read-body.ts'
import { route, type Answer } from '#api/http/route.ts'
import { batchAnswer } from '#api/sending/answer-shapes.ts'
import { MESSAGE_REF, sendBody, type SendBody } from '#api/sending/body.ts'
import { digestOf } from '#api/sending/request-digest.ts'
import { idempotencyKeyOf, MISMATCH, send, type Claim, type Sent } from '#api/sending/send.ts'
import { tierName } from '#api/sending/tier.ts'
import { SENDING_ERRORS, sendingPaths } from './send.ts'

const MAX_MESSAGES = 500

const batchBody = z.object({
  messages: z
    .array(
      z
        .unknown()
        .meta(MESSAGE_REF)
        .transform((message) => readPart(sendBody, message)),
    )
    .min(1, 'at least one message')
    .max(MAX_MESSAGES, `at most ${MAX_MESSAGES} messages`)
    .meta({ description: 'each as the body of a send' }),
  tier: tierName,
})

export const sendBatch = route({
  name: 'send-batch',
  summary: `Send up to ${MAX_MESSAGES} different messages, each accepted or refused by itself`,
  method: 'POST',
  paths: sendingPaths('batch'),
  access: 'regular',
  body: batchBody,
  status: 200,
  answer: batchAnswer,
  errors: SENDING_ERRORS,
  handle: async (ctx, { caller, body, headers }) => {
    const found = idempotencyKeyOf(headers['idempotency-key'])
    if (!found.ok) return found.refusal
    const claims = found.key === null ? null : claimsOf(found.key, await digestOfBatch(body))
    if (claims !== null && (await isOther(ctx, caller, claims))) return MISMATCH
    const items = body.messages.map((read, i): Item => ({ caller, read, tier: body.tier, claim: claims?.[i] ?? null }))
    const results = await sendAll(ctx, items)
    return results.every((result) => result === AWAY) ? AWAY : list(results)
  },
})

/** Over the digests of its messages. */
async function digestOfBatch({ messages, tier }: z.output<typeof batchBody>): Promise<Buffer> {
  const digests: Buffer[] = []
  await inSlices(messages, (message) => digests.push(digestOf('message', message)))
  return digestOf('batch', { tier, messages: Buffer.concat(digests) })
}

/** A claim for every place that a batch can have. The arrow cannot be in a header, so these keys meet no client's own. */
function claimsOf(key: string, bodyHash: Buffer): Claim[] {
  return Array.from({ length: MAX_MESSAGES }, (_, i) => ({ key: `${key}→${i}`, bodyHash }))
}

/** The key was used with another batch. */
async function isOther(ctx: ApiContext, caller: Caller, claims: readonly Claim[]): Promise<boolean> {
  const before = await findClaims(
    ctx.db,
    caller.workspaceId,
    claims.map(({ key }) => key),
    claims[0]?.bodyHash ?? Buffer.alloc(0),
  )
  return [...before.values()].some(({ kind }) => kind === 'mismatch')
}

interface Item {
  readonly caller: Caller
  readonly read: Part<SendBody>
  readonly tier: Tier
  readonly claim: Claim | null
}

const AWAY = refuse('SERVICE_UNAVAILABLE', 'The service cannot store anything right now. Try again.', 2)

async function sendAll(ctx: ApiContext, items: readonly Item[]): Promise<(Sent | Refusal)[]> {
  const started: Promise<Sent | Refusal>[] = []
  await inSlices(items, (item) => {
    const sent = sendItem(ctx, item)
    sent.catch(() => undefined) // heard below, when all are started
    started.push(sent)
  })
  return Promise.all(started)
}

const SLICE = 25

/** Others are answered between the slices. */
async function inSlices<T>(items: readonly T[], work: (item: T) => void): Promise<void> {
  for (let from = 0; from < items.length; from += SLICE) {
    items.slice(from, from + SLICE).forEach(work)
    await nextTurn()
  }
}

async function sendItem(ctx: ApiContext, { caller, read, tier, claim }: Item): Promise<Sent | Refusal> {
  if (!read.ok) return invalid(read.details)
  try {
    return await send(ctx, caller, { body: read.value, tier, scheduledAt: null, timezone: null }, claim)
  } catch (error) {
    if (isDatabaseAway(error)) return AWAY // what others of this batch were promised stands
    throw error
  }
}

function list(results: readonly (Sent | Refusal)[]): Answer {
  const sent = results.filter((result): result is Sent => !isRefusal(result))
  const items = results.map((result, i) =>
    isRefusal(result)
      ? JSON.stringify({ index: i, ...refusalBody(result) })
      : `{"index":${i},${result.answer.slice(1)}`,
  )
  const head = JSON.stringify({
    success: true,
    message: `${sent.length} of ${results.length} messages accepted.`,
  }).slice(0, -1)
  const counts = `"total":${results.length},"accepted":${sent.length},"refused":${results.length - sent.length}`
  const body = `${head},"data":{${counts},"results":[${items.join(',')}]}}`
  return sent.length > 0 && sent.every(({ isReplay }) => isReplay)
    ? { body, headers: { 'Idempotent-Replayed': 'true' } }
    : { body }
}
