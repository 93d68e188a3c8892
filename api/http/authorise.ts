/**
 * Who may call a route. It checks the API key, the request rate, whether the workspace is suspended, the kind of the
 * key, its scope and the plan, in this order. Every response to a valid key has the rate-limit headers. A key that is
 * missing, malformed, unknown, expired or disabled gets the same 401, which does not tell these cases apart. A key that
 * is used outside its networks gets 403. The operator token is valid on operator routes only, and API keys are not
 * valid there; a network that sends invalid tokens is refused for a while (`operator-access.ts`). A request without the
 * header Authorization may have a session instead (`session-access.ts`): the request rate and the plan of the workspace
 * hold for it as well.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { isAllowedFrom } from '#src/auth/key-networks.ts'
import type { Caller } from '#src/auth/keys.ts'
import type { SignedInUser } from '#src/people/user-sessions.ts'
import { rateLimited, refuse, type Refusal } from '#src/platform/errors.ts'
import { planOf, type ApiContext } from './context.ts'
import { rateHeaders } from './limit-headers.ts'
import { refuseOperator, type OperatorRequest } from './operator-access.ts'
import { isRefusal } from './response.ts'
import { isPersonal, type AnyRoute } from './route.ts'
import { authoriseSession, authoriseSessionAgain } from './session-access.ts'

/** `person` has a session; null for a program. `caller` is null on routes without a workspace. */
export type AuthorisationResult =
  | { readonly ok: true; readonly caller: Caller | null; readonly person: SignedInUser | null }
  /** `caller` is null for an invalid key. */
  | { readonly ok: false; readonly caller: Caller | null; readonly refusal: Refusal }

/** What authorisation reads of a request, and where it sets the rate-limit headers. */
export interface AuthorisedRequest extends Pick<OperatorRequest, 'id' | 'address'> {
  readonly req: IncomingMessage
  readonly res: ServerResponse
}

const NO_CALLER: AuthorisationResult = { ok: true, caller: null, person: null }
const INVALID_KEY = refuse(
  'UNAUTHORIZED',
  'The API key is missing or invalid. Send it as "Authorization: Bearer <key>".',
)
const SUSPENDED = refuse('FORBIDDEN', 'This workspace is suspended. Ask the operator of this service for the reason.')
const NEEDS_PERSON = refuse('FORBIDDEN', 'This endpoint is for people. Call login; an API key is not accepted.')
const NEEDS_LOGIN = refuse('UNAUTHORIZED', 'This endpoint needs a session. Call login to start one.')
/** Before the rate is counted: a stolen key uses up nothing. */
const OTHER_NETWORK = refuse(
  'FORBIDDEN',
  'This key may not be used from your network. Use it from one of its networks, or change them with change-api-key.',
)
const BEARER = /^bearer +(\S+) *$/i
const MAX_CREDENTIAL = 512

/** @throws if the key is not cached and PostgreSQL is unavailable. */
export async function authorise(
  ctx: ApiContext,
  spec: AnyRoute,
  request: AuthorisedRequest,
): Promise<AuthorisationResult> {
  if (spec.access === 'public') return NO_CALLER
  const { method, headers, url } = request.req
  if (headers.authorization === undefined) {
    const access = await authoriseSession(ctx, spec, { method, headers, url, res: request.res })
    if (access !== null) return access.ok ? limitSession(ctx, spec, request.res, access) : { ...access, caller: null }
  }
  const credential = readBearer(headers.authorization)
  if (spec.access === 'operator') {
    const refusal = await refuseOperator(ctx, {
      id: request.id,
      address: request.address,
      route: spec.name,
      credential,
    })
    return refusal === null ? NO_CALLER : { ok: false, caller: null, refusal }
  }
  const caller = credential === null ? null : await ctx.keyring.authenticate(credential)
  if (caller === null) return { ok: false, caller, refusal: isPersonal(spec) ? NEEDS_LOGIN : INVALID_KEY }
  if (!isAllowedFrom(caller.networks, request.address)) return { ok: false, caller, refusal: OTHER_NETWORK }
  const refusal =
    limitRate(ctx, request.res, caller) ??
    (caller.isSuspended ? SUSPENDED : null) ??
    checkAccess(spec, caller) ??
    refusePlan(ctx, spec, caller)
  return refusal === null ? { ok: true, caller, person: null } : { ok: false, caller, refusal }
}

/** What the plan of the workspace allows holds for its members, too. */
function limitSession(
  ctx: ApiContext,
  spec: AnyRoute,
  res: ServerResponse,
  access: Extract<AuthorisationResult, { ok: true }>,
): AuthorisationResult {
  const { caller } = access
  const refusal = caller === null ? null : (limitRate(ctx, res, caller) ?? refusePlan(ctx, spec, caller))
  return refusal === null ? access : { ok: false, caller, refusal }
}

const refusePlan = (ctx: ApiContext, spec: AnyRoute, caller: Caller): Refusal | null =>
  spec.needsLaunch === true ? checkPlan(ctx, caller) : null

/** A request that waits, or whose response is still open. */
export interface WaitingRequest {
  readonly headers: IncomingHttpHeaders
  /** The client's IP address. */
  readonly address: string
}

/**
 * Checks the key or session of a request again that waited, before it responds with what happened since, and of a
 * stream while it is open: the key may have been revoked or the workspace suspended. A cached lookup for a key; the
 * request is not counted again. Null: the operator.
 *
 * @throws as `authorise` does.
 */
export async function authoriseAgain(
  ctx: Pick<ApiContext, 'keyring' | 'operatorToken' | 'sessionChecks' | 'config'>,
  spec: Pick<AnyRoute, 'name' | 'access'>,
  { headers, address }: WaitingRequest,
): Promise<Caller | Refusal | null> {
  const { authorization } = headers
  if (authorization === undefined) return authoriseSessionAgain(ctx, spec, headers)
  const credential = readBearer(authorization)
  if (spec.access === 'operator')
    return credential !== null && ctx.operatorToken.matches(credential) ? null : INVALID_KEY
  const caller = credential === null ? null : await ctx.keyring.authenticate(credential)
  if (caller === null) return INVALID_KEY
  if (!isAllowedFrom(caller.networks, address)) return OTHER_NETWORK
  return caller.isSuspended ? SUSPENDED : caller
}

/** The refusal of `authoriseAgain` for a route of a workspace; null: key or session are still valid. */
export async function refuseAfterWait(
  ctx: Pick<ApiContext, 'keyring' | 'operatorToken' | 'sessionChecks' | 'config'>,
  name: string,
  request: WaitingRequest,
): Promise<Refusal | null> {
  const caller = await authoriseAgain(ctx, { name, access: 'any' }, request)
  return caller !== null && isRefusal(caller) ? caller : null
}

function readBearer(header: string | undefined): string | null {
  if (header === undefined || header.length > MAX_CREDENTIAL) return null
  return BEARER.exec(header)?.[1] ?? null
}

function limitRate(ctx: ApiContext, res: ServerResponse, caller: Caller): Refusal | null {
  const rate = ctx.rate.consume(caller.workspaceId, planOf(ctx, caller.plan).requestsPerSecond)
  for (const [name, value] of Object.entries(rateHeaders(rate))) res.setHeader(name, value)
  if (rate.isAllowed) return null
  const message =
    `The plan ${caller.plan} allows ${rate.limit} requests in 10 seconds. ` +
    `Wait ${rate.retryAfter} s, and send several messages in one request with /send-email/batch.`
  return rateLimited('request_rate', message, rate.retryAfter)
}

function checkAccess(spec: AnyRoute, caller: Caller): Refusal | null {
  const { access } = spec
  if (isPersonal(spec)) return NEEDS_PERSON
  if (access === 'any' || access === caller.kind) return null
  if (access === 'regular')
    return refuse('FORBIDDEN', 'Sending needs a Regular key; this is an Admin key. Use one of the sending domain.')
  if (caller.kind !== 'admin')
    return refuse('FORBIDDEN', 'This endpoint needs an Admin key; this is a Regular key. Use an Admin key.')
  return typeof access === 'object' && !caller.scopes.includes(access.admin)
    ? refuse('INSUFFICIENT_SCOPE', `This Admin key lacks the scope ${access.admin}. Use a key that has it.`)
    : null
}

/** Refuses what the plan of the workspace does not include. */
export function checkPlan(ctx: ApiContext, caller: Caller): Refusal | null {
  return planOf(ctx, caller.plan).isLaunch
    ? null
    : refuse('PLAN_REQUIRED', 'This needs the plan LAUNCH or higher. Ask the operator for another plan.')
}
