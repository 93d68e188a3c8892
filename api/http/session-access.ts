/**
 * Access of a person who is signed in: the session cookie, where the request comes from, the workspace in the header
 * X-Workspace and the role in it. A workspace that does not exist and one that the person is no member of get the same
 * answer. The session is read from PostgreSQL each time, so an ended one is refused at once.
 */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { Caller } from '#src/auth/keys.ts'
import { hasPermission, ROLES, scopesOfRole } from '#src/people/roles.ts'
import { findSession, hasSecondFactor, type MemberWorkspace, type SignedInUser } from '#src/people/user-sessions.ts'
import { invalid, rateLimited, refuse, type Refusal } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import type { ApiContext } from './context.ts'
import { rateHeaders } from './limit-headers.ts'
import { permissionOf } from './route-permissions.ts'
import { isFromHere } from './same-origin.ts'
import { readSessionCookie } from './session-cookie.ts'
import type { AnyRoute } from './route.ts'

const WORKSPACE_HEADER = 'X-Workspace'

/** Requests per second of one person. */
const REQUESTS_PER_SECOND = 50

const ENDED = refuse('UNAUTHORIZED', 'You are not signed in, or the session has ended. Call login to start another.')
const FOREIGN = refuse(
  'FORBIDDEN',
  'Another site made this request, or the browser does not say which. Use the pages of this service.',
)
const NO_WORKSPACE = refuse('NOT_FOUND', 'There is no such workspace. Call get-me to see yours.')
const NOT_OPERATOR = refuse('FORBIDDEN', 'This endpoint is for operators. Ask one of them.')
const FOR_PROGRAMS = refuse('FORBIDDEN', 'This endpoint is for programs. Use an API key.')
const UNNAMED = invalid([{ path: WORKSPACE_HEADER, message: 'name the workspace by its id in this header' }])

const NEEDS_SECOND_FACTOR = refuse(
  'FORBIDDEN',
  'This service requires a second factor. Add one with start-totp or start-passkey first.',
)
/** What somebody may do who has to add a second factor. */
const WITHOUT_SECOND_FACTOR: ReadonlySet<string> = new Set(
  `get-me logout list-sessions end-session end-other-sessions change-password list-login-methods start-totp confirm-totp
    start-passkey add-passkey start-provider-link`.split(/\s+/),
)

/** Whether the person has to add a second factor before anything else. */
export function needsSecondFactor(
  { secondFactor }: Pick<ApiContext['config'], 'secondFactor'>,
  person: SignedInUser,
): boolean {
  if (secondFactor === 'optional' || hasSecondFactor(person)) return false
  return secondFactor === 'everyone' || person.isOperator
}

export type SessionAccess =
  | { readonly ok: true; readonly person: SignedInUser; readonly caller: Caller | null }
  | { readonly ok: false; readonly person: SignedInUser | null; readonly refusal: Refusal }

export interface SessionRequest {
  readonly method?: string | undefined
  /** With its query. */
  readonly url?: string | undefined
  readonly headers: IncomingHttpHeaders
}

type SessionContext = Pick<ApiContext, 'db' | 'config' | 'rate'>

/** Null if the request has no session cookie. Whether a page of this service made it is checked. */
export async function authoriseSession(
  ctx: SessionContext,
  spec: AnyRoute,
  request: SessionRequest & { readonly res: ServerResponse },
): Promise<SessionAccess | null> {
  const token = readSessionCookie(ctx.config, request.headers)
  if (token === null) return null
  if (!isFromHere(ctx.config, request)) return { ok: false, person: null, refusal: FOREIGN }
  const headers = withWorkspaceOfQuery(spec, request)
  const workspaceId = readWorkspace(headers)
  const found = await findSession(ctx.db, ctx.config, { token, workspaceId })
  if (found === null) return { ok: false, person: null, refusal: ENDED }
  const { user: person, membership } = found
  const refusal =
    limitRate(ctx, request.res, person) ??
    (needsSecondFactor(ctx.config, person) && !WITHOUT_SECOND_FACTOR.has(spec.name) ? NEEDS_SECOND_FACTOR : null) ??
    refuseAccess(spec, { person, membership, isNamed: hasWorkspace(headers) })
  if (refusal !== null) return { ok: false, person, refusal }
  const isOfWorkspace = spec.access !== 'operator' && spec.access !== 'person'
  return { ok: true, person, caller: membership === null || !isOfWorkspace ? null : callerOf(membership) }
}

/** The person of a request to a public endpoint; null if nobody is signed in. */
export async function findPerson(
  ctx: Pick<ApiContext, 'db' | 'config'>,
  request: SessionRequest,
): Promise<SignedInUser | null> {
  const token = readSessionCookie(ctx.config, request.headers)
  if (token === null || !isFromHere(ctx.config, request)) return null
  return (await findSession(ctx.db, ctx.config, { token, workspaceId: null }))?.user ?? null
}

/** For a request that waited, and for an open stream: who the caller is now. Null: an operator. */
export async function authoriseSessionAgain(
  ctx: Pick<ApiContext, 'sessionChecks' | 'config'>,
  { name, access }: Pick<AnyRoute, 'name' | 'access'>,
  headers: IncomingHttpHeaders,
): Promise<Caller | Refusal | null> {
  const token = readSessionCookie(ctx.config, headers) ?? ''
  const found = await ctx.sessionChecks.find({ token, workspaceId: readWorkspace(headers) })
  if (found === null) return ENDED
  if (access === 'operator') return found.user.isOperator ? null : NOT_OPERATOR
  const { membership } = found
  return refuseRole(name, membership) ?? (membership === null ? NO_WORKSPACE : callerOf(membership))
}

interface Standing {
  readonly person: SignedInUser
  readonly membership: MemberWorkspace | null
  /** The request names a workspace. */
  readonly isNamed: boolean
}

function refuseAccess(spec: AnyRoute, { person, membership, isNamed }: Standing): Refusal | null {
  if (spec.access === 'person') return null
  if (spec.access === 'operator') return person.isOperator ? null : NOT_OPERATOR
  if (permissionOf(spec.name) === null) return FOR_PROGRAMS
  return isNamed ? refuseRole(spec.name, membership) : UNNAMED
}

function refuseRole(routeName: string, membership: MemberWorkspace | null): Refusal | null {
  if (membership === null) return NO_WORKSPACE
  if (membership.isSuspended)
    return refuse('FORBIDDEN', 'This workspace is suspended. Ask the operator of this service for the reason.')
  const permission = permissionOf(routeName)
  if (permission === null) return FOR_PROGRAMS
  if (hasPermission(membership.role, permission)) return null
  return refuse(
    'FORBIDDEN',
    `Your role ${membership.role} lacks the permission ${permission}. Ask an owner or admin of the workspace.`,
  )
}

const hasWorkspace = (headers: IncomingHttpHeaders): boolean => headers['x-workspace'] !== undefined

/** Routes that `EventSource` opens, which cannot send a header: the query may name the workspace. They only read. */
const WORKSPACE_IN_QUERY: ReadonlySet<string> = new Set(['stream-changes'])

/** The headers with the workspace that the query names. Two names are none, so that no reader can take the other. */
function withWorkspaceOfQuery(
  { name }: Pick<AnyRoute, 'name'>,
  { headers, url = '' }: { readonly headers: IncomingHttpHeaders; readonly url?: string | undefined },
): IncomingHttpHeaders {
  const start = url.indexOf('?')
  if (start < 0 || !WORKSPACE_IN_QUERY.has(name)) return headers
  const given = new URLSearchParams(url.slice(start + 1)).getAll('workspace')
  if (given.length === 0) return headers
  const named = new Set([...given, ...(hasWorkspace(headers) ? [String(headers['x-workspace'])] : [])])
  return { ...headers, 'x-workspace': named.size === 1 ? given[0] : 'ambiguous' }
}

/** A name that is no uuid is that of no workspace. */
function readWorkspace(headers: IncomingHttpHeaders): string | null {
  const given = headers['x-workspace']
  return typeof given === 'string' && isUuid(given) ? given : null
}

function limitRate(ctx: SessionContext, res: ServerResponse, { userId }: SignedInUser): Refusal | null {
  const rate = ctx.rate.consume(userId, REQUESTS_PER_SECOND)
  for (const [name, value] of Object.entries(rateHeaders(rate))) res.setHeader(name, value)
  if (rate.isAllowed) return null
  const message = `A person may send ${rate.limit} requests in 10 seconds. Wait ${rate.retryAfter} s.`
  return rateLimited('request_rate', message, rate.retryAfter)
}

/** What endpoints of a workspace see: an admin without a key, with the scopes that the role may give. */
function callerOf({ workspaceId, role, plan, replyTo, isSuspended }: MemberWorkspace): Caller {
  return {
    keyId: null,
    kind: 'admin',
    workspaceId,
    scopes: scopesOfRole(role),
    permissions: ROLES[role],
    domainId: null,
    domain: null,
    domainStatus: null,
    account: null,
    plan,
    replyTo,
    isSuspended,
  }
}
