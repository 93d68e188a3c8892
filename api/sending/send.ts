/**
 * One send from a folded body to its answer: prepare, accept, tell. With an Idempotency-Key the first answer is repeated, also when the
 * same request would be refused by now (its time has come, its template is gone): it was accepted, and the client only wants to hear it.
 */
import type { Caller } from '#src/auth/keys.ts'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { findClaims } from '#src/messages/idempotent-replay.ts'
import type { Accepted, Submission } from '#src/messages/submission.ts'
import { isRefusal } from '#api/http/answer.ts'
import type { ApiContext } from '#api/http/context.ts'
import { answerOf } from './answer.ts'
import { prepare, type Order } from './prepare.ts'

export interface Sent {
  /** JSON. */
  readonly answer: string
  readonly isReplay: boolean
}

/** The client's key and what it stands for. */
export interface Claim {
  readonly key: string
  readonly bodyHash: Buffer
}

/** @throws when PostgreSQL is away: nothing is known to be stored. */
export async function send(
  ctx: ApiContext,
  caller: Caller,
  order: Order,
  claim: Claim | null,
): Promise<Sent | Refusal> {
  const prepared = await prepare(ctx, caller, order)
  if (isRefusal(prepared)) return claim === null ? prepared : await recall(ctx, caller, claim, prepared)
  const answer = JSON.stringify(answerOf(prepared))
  const submission: Submission = claim === null ? prepared : { ...prepared, idempotency: { ...claim, answer } }
  return explain(ctx, await ctx.acceptor.accept(submission), answer)
}

async function recall(ctx: ApiContext, caller: Caller, claim: Claim, refusal: Refusal): Promise<Sent | Refusal> {
  const before = (await findClaims(ctx.db, caller.workspaceId, [claim.key], claim.bodyHash)).get(claim.key)
  return before === undefined ? refusal : explain(ctx, before, '')
}

function explain(ctx: ApiContext, accepted: Accepted, answer: string): Sent | Refusal {
  if (accepted.kind === 'stored') return { answer, isReplay: false }
  return accepted.kind === 'replayed'
    ? { answer: accepted.answer, isReplay: true }
    : NOT_ACCEPTED[accepted.kind](ctx.clock.now())
}

export const MISMATCH = refuse('IDEMPOTENCY_MISMATCH', 'This Idempotency-Key was used with another request.')

const NOT_ACCEPTED: Readonly<Record<Exclude<Accepted['kind'], 'stored' | 'replayed'>, (nowMs: number) => Refusal>> = {
  mismatch: () => MISMATCH,
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
