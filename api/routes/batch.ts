/**
 * POST /send-email/batch: up to 500 different messages in one request. Each is accepted or refused by itself; the answer lists them in
 * order. They are started together, so that they share commits. With an Idempotency-Key each message has a claim of its own under it: a
 * batch that was cut off in the middle is completed by sending it again, and no message goes out twice.
 */
import { z } from 'zod'
import type { Caller } from '#src/auth/keys.ts'
import { isDatabaseAway } from '#src/db.ts'
import { invalid, refuse, type Refusal } from '#src/errors.ts'
import { findClaims } from '#src/messages/replay.ts'
import type { Tier } from '#src/queue/tiers.ts'
import { isRefusal, refusalBody } from '#api/answer.ts'
import type { ApiContext } from '#api/context.ts'
import { readPart } from '#api/read.ts'
import { route, type Answer } from '#api/route.ts'
import { batchAnswer } from '#api/sending/answer-shapes.ts'
import { MESSAGE_REF, sendBody } from '#api/sending/body.ts'
import { digestOf } from '#api/sending/digest.ts'
import { idempotencyKeyOf, MISMATCH, send, type Claim, type Sent } from '#api/sending/send.ts'
import { tierName } from '#api/sending/tier.ts'
import { SENDING_ERRORS, sendingPaths } from './send.ts'

const MAX_MESSAGES = 500

const batchBody = z.object({
  messages: z
    .array(z.unknown().meta(MESSAGE_REF))
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
    const claims = found.key === null ? null : claimsOf(found.key, digestOf('batch', body))
    if (claims !== null && (await isOther(ctx, caller, claims))) return MISMATCH
    const results = await Promise.all(
      body.messages.map((message, i) => sendItem(ctx, { caller, message, tier: body.tier, claim: claims?.[i] ?? null })),
    )
    return results.every((result) => result === AWAY) ? AWAY : list(results)
  },
})

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
  readonly message: unknown
  readonly tier: Tier
  readonly claim: Claim | null
}

const AWAY = refuse('SERVICE_UNAVAILABLE', 'The service cannot store anything right now. Try again.', 2)

async function sendItem(ctx: ApiContext, { caller, message, tier, claim }: Item): Promise<Sent | Refusal> {
  const read = readPart(sendBody, message)
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
    isRefusal(result) ? JSON.stringify({ index: i, ...refusalBody(result) }) : `{"index":${i},${result.answer.slice(1)}`,
  )
  const head = JSON.stringify({ success: true, message: `${sent.length} of ${results.length} messages accepted.` }).slice(0, -1)
  const counts = `"total":${results.length},"accepted":${sent.length},"refused":${results.length - sent.length}`
  const body = `${head},"data":{${counts},"results":[${items.join(',')}]}}`
  return sent.length > 0 && sent.every(({ isReplay }) => isReplay) ? { body, headers: { 'Idempotent-Replayed': 'true' } } : { body }
}
