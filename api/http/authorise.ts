/**
 * Who calls, and may they: key, kind, scope, plan, request rate, in this order. Every answer to a known key carries the rate headers.
 * A key that is missing, malformed, unknown, expired or switched off gets the same 401 and no more is said. The operator's token is asked
 * for where it is needed and is no key elsewhere, as a key is none where the operator's token is needed.
 */
import type Koa from 'koa'
import type { Caller } from '#src/auth/keys.ts'
import { refuse, type Refusal } from '#src/platform/errors.ts'
import { planOf, type ApiContext } from './context.ts'
import type { AnyRoute } from './route.ts'

export type Admission =
  | { readonly ok: true; readonly caller: Caller | null }
  | { readonly ok: false; readonly refusal: Refusal }

const ANYBODY: Admission = { ok: true, caller: null }
const NO_OPERATOR = refuse('UNAUTHORIZED', "The operator's token is missing or not valid.")
const BEARER = /^bearer +(\S+) *$/i
const LONGEST_CREDENTIAL = 512

/** @throws when PostgreSQL must be asked and is away. */
export async function authorise(ctx: ApiContext, spec: AnyRoute, koa: Koa.Context): Promise<Admission> {
  if (spec.access === 'public') return ANYBODY
  const key = keyOf(koa.req.headers.authorization)
  if (spec.access === 'operator')
    return key !== null && ctx.operatorToken.matches(key) ? ANYBODY : { ok: false, refusal: NO_OPERATOR }
  const caller = key === null ? null : await ctx.keyring.authenticate(key)
  if (caller === null) return { ok: false, refusal: refuse('UNAUTHORIZED', 'The API key is missing or not valid.') }
  const refusal =
    limit(ctx, koa, caller) ?? judge(spec, caller) ?? (spec.needsLaunch === true ? judgePlan(ctx, caller) : null)
  return refusal === null ? { ok: true, caller } : { ok: false, refusal }
}

function keyOf(header: string | undefined): string | null {
  if (header === undefined || header.length > LONGEST_CREDENTIAL) return null
  return BEARER.exec(header)?.[1] ?? null
}

function limit(ctx: ApiContext, koa: Koa.Context, caller: Caller): Refusal | null {
  const verdict = ctx.rate.take(caller.workspaceId, planOf(ctx, caller.plan).requestsPerSecond)
  const { res } = koa
  res.setHeader('X-RateLimit-Limit', verdict.limit)
  res.setHeader('X-RateLimit-Remaining', verdict.remaining)
  res.setHeader('X-RateLimit-Reset', verdict.resetAt)
  return verdict.isAllowed ? null : refuse('RATE_LIMITED', 'Too many requests.', verdict.retryAfter)
}

function judge(spec: AnyRoute, caller: Caller): Refusal | null {
  const { access } = spec
  if (access === 'any' || access === caller.kind) return null
  if (access === 'regular') return refuse('FORBIDDEN', 'Sending needs a Regular key; this is an Admin key.')
  if (caller.kind !== 'admin') return refuse('FORBIDDEN', 'This endpoint needs an Admin key; this is a Regular key.')
  return typeof access === 'object' && !caller.scopes.includes(access.admin)
    ? refuse('INSUFFICIENT_SCOPE', `This Admin key lacks the scope ${access.admin}.`)
    : null
}

function judgePlan(ctx: ApiContext, caller: Caller): Refusal | null {
  return planOf(ctx, caller.plan).isLaunch ? null : refuse('PLAN_REQUIRED', 'This needs the plan LAUNCH or higher.')
}
