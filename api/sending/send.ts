/**
 * One send, from the canonical body to the response: prepares the submission and accepts it. With an Idempotency-Key a
 * repeated request gets the first response again, even if it would be refused now (its scheduled time has passed, its
 * template was deleted), because the message was accepted then.
 */
import type { Caller } from '#src/auth/keys.ts'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { findStoredResults } from '#src/messages/idempotent-replay.ts'
import type { AcceptResult, Submission } from '#src/messages/submission.ts'
import { isRefusal } from '#api/http/response.ts'
import type { ApiContext } from '#api/http/context.ts'
import { createSendResponse } from './send-response.ts'
import { prepare, type SendRequest } from './prepare.ts'

export interface SendResult {
  /** JSON. */
  readonly answer: string
  readonly isReplay: boolean
}

/** The Idempotency-Key of a request and the digest of its body. */
export interface IdempotencyClaim {
  readonly key: string
  readonly bodyHash: Buffer
}

/** @throws if PostgreSQL is unavailable. The message may or may not be stored. */
export async function send(
  ctx: ApiContext,
  caller: Caller,
  request: SendRequest,
  claim: IdempotencyClaim | null,
): Promise<SendResult | Refusal> {
  const prepared = await prepare(ctx, caller, request)
  if (isRefusal(prepared)) return claim === null ? prepared : await findReplay(ctx, caller, claim, prepared)
  const answer = JSON.stringify(createSendResponse(prepared))
  const submission: Submission = claim === null ? prepared : { ...prepared, idempotency: { ...claim, answer } }
  return toResult(ctx, await ctx.acceptor.accept(submission), answer)
}

async function findReplay(
  ctx: ApiContext,
  caller: Caller,
  claim: IdempotencyClaim,
  refusal: Refusal,
): Promise<SendResult | Refusal> {
  const before = (await findStoredResults(ctx.db, caller.workspaceId, [claim.key], claim.bodyHash)).get(claim.key)
  return before === undefined ? refusal : toResult(ctx, before, '')
}

function toResult(ctx: ApiContext, accepted: AcceptResult, answer: string): SendResult | Refusal {
  if (accepted.kind === 'stored') return { answer, isReplay: false }
  return accepted.kind === 'replayed'
    ? { answer: accepted.answer, isReplay: true }
    : REFUSALS[accepted.kind](ctx.clock.now())
}

export const IDEMPOTENCY_MISMATCH = refuse(
  'IDEMPOTENCY_MISMATCH',
  'This Idempotency-Key was used with another request.',
)

const REFUSALS: Readonly<Record<Exclude<AcceptResult['kind'], 'stored' | 'replayed'>, (nowMs: number) => Refusal>> = {
  mismatch: () => IDEMPOTENCY_MISMATCH,
  'in-progress': () => refuse('IDEMPOTENCY_IN_PROGRESS', 'A request with this Idempotency-Key is still under way.', 1),
  'over-quota': (nowMs) =>
    refuse('RATE_LIMITED', 'The monthly quota of the plan is reached.', secondsToNextMonth(nowMs)),
}

function secondsToNextMonth(nowMs: number): number {
  const now = new Date(nowMs)
  return Math.ceil((Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1) - nowMs) / 1000)
}

const MAX_KEY = 256

/** The Idempotency-Key of a request; null when it has none. */
export function idempotencyKeyOf(
  header: string | string[] | undefined,
): { readonly ok: true; readonly key: string | null } | { readonly ok: false; readonly refusal: Refusal } {
  if (header === undefined) return { ok: true, key: null }
  const key = String(header)
  if (key.length > 0 && key.length <= MAX_KEY) return { ok: true, key }
  return { ok: false, refusal: invalid([{ path: 'Idempotency-Key', message: `must have 1 to ${MAX_KEY} characters` }]) }
}
