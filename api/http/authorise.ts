/**
 * Authorises a request: API key, request rate, kind of key, scope and plan, in this order. Every response to a valid
 * key has the rate-limit headers. A key that is missing, malformed, unknown, expired or disabled gets the same 401,
 * which does not tell these cases apart. The operator token is valid on operator routes only, and API keys are not
 * valid there.
 */
import type Koa from 'koa'
import type { Caller } from '#src/auth/keys.ts'
import { refuse, type Refusal } from '#src/platform/errors.ts'
import { planOf, type ApiContext } from './context.ts'
import type { AnyRoute } from './route.ts'

export type AuthorisationResult =
  | { readonly ok: true; readonly caller: Caller | null }
  | { readonly ok: false; readonly refusal: Refusal }

const NO_CALLER: AuthorisationResult = { ok: true, caller: null }
const NOT_OPERATOR = refuse('UNAUTHORIZED', 'The operator token is missing or invalid.')
const BEARER = /^bearer +(\S+) *$/i
const MAX_CREDENTIAL = 512

/** @throws if the key is not cached and PostgreSQL is unavailable. */
export async function authorise(ctx: ApiContext, spec: AnyRoute, koa: Koa.Context): Promise<AuthorisationResult> {
  if (spec.access === 'public') return NO_CALLER
  const key = readBearer(koa.req.headers.authorization)
  if (spec.access === 'operator')
    return key !== null && ctx.operatorToken.matches(key) ? NO_CALLER : { ok: false, refusal: NOT_OPERATOR }
  const caller = key === null ? null : await ctx.keyring.authenticate(key)
  if (caller === null) return { ok: false, refusal: refuse('UNAUTHORIZED', 'The API key is missing or invalid.') }
  const refusal =
    limitRate(ctx, koa, caller) ??
    checkAccess(spec, caller) ??
    (spec.needsLaunch === true ? checkPlan(ctx, caller) : null)
  return refusal === null ? { ok: true, caller } : { ok: false, refusal }
}

function readBearer(header: string | undefined): string | null {
  if (header === undefined || header.length > MAX_CREDENTIAL) return null
  return BEARER.exec(header)?.[1] ?? null
}

function limitRate(ctx: ApiContext, koa: Koa.Context, caller: Caller): Refusal | null {
  const rate = ctx.rate.consume(caller.workspaceId, planOf(ctx, caller.plan).requestsPerSecond)
  const { res } = koa
  res.setHeader('X-RateLimit-Limit', rate.limit)
  res.setHeader('X-RateLimit-Remaining', rate.remaining)
  res.setHeader('X-RateLimit-Reset', rate.resetAt)
  return rate.isAllowed ? null : refuse('RATE_LIMITED', 'Too many requests.', rate.retryAfter)
}

function checkAccess(spec: AnyRoute, caller: Caller): Refusal | null {
  const { access } = spec
  if (access === 'any' || access === caller.kind) return null
  if (access === 'regular') return refuse('FORBIDDEN', 'Sending needs a Regular key; this is an Admin key.')
  if (caller.kind !== 'admin') return refuse('FORBIDDEN', 'This endpoint needs an Admin key; this is a Regular key.')
  return typeof access === 'object' && !caller.scopes.includes(access.admin)
    ? refuse('INSUFFICIENT_SCOPE', `This Admin key lacks the scope ${access.admin}.`)
    : null
}

function checkPlan(ctx: ApiContext, caller: Caller): Refusal | null {
  return planOf(ctx, caller.plan).isLaunch ? null : refuse('PLAN_REQUIRED', 'This needs the plan LAUNCH or higher.')
}
