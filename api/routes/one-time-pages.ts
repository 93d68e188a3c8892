/**
 * What the links that work once open: joining with an invitation, and choosing a new password. A browser gets pages
 * without scripts, a program JSON. Opening a link changes nothing. Guessing a token is hopeless, and guesses are
 * limited by network.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import {
  joinSignedIn,
  joinWithAccount,
  type AttributeTo,
  type JoinResult,
  type AccountDetails,
} from '#src/people/accept-invitation.ts'
import { findInvitation, type Invitation } from '#src/people/invitations.ts'
import { completeLogin } from '#src/people/login.ts'
import { JOIN_PATH, RESET_PATH } from '#src/people/one-time-links.ts'
import { consumeReset, findReset } from '#src/people/password-resets.ts'
import { findPasswordProblem, hashPassword } from '#src/people/passwords.ts'
import type { SignedInUser } from '#src/people/user-sessions.ts'
import { findUser } from '#src/people/users.ts'
import { invalid, refuse, type Detail, type Refusal } from '#src/platform/errors.ts'
import type { ApiContext } from '#api/http/context.ts'
import { envelope, plainResponse } from '#api/http/response-schemas.ts'
import { isRefusal } from '#api/http/response.ts'
import { byToken, limitLinks } from '#api/http/one-time-links.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { isForeign } from '#api/http/same-origin.ts'
import { findPerson } from '#api/http/session-access.ts'
import { sessionCookie } from '#api/http/session-cookie.ts'
import {
  joinedPage,
  joinPage,
  refusedLinkPage,
  resetDonePage,
  resetPage,
  type JoinPage,
} from '#api/pages/one-time-page.ts'
import { FOREIGN_LOGIN, userActor } from './login-completion.ts'
import { newPassword, OVERLOADED, personName, roleField, userEmail } from './person-fields.ts'

const INVALID_LINK = refuse(
  'NOT_FOUND',
  'This link was used, was revoked, or is too old. Ask the sender of the link for a new one.',
)

const invitationSchema = z.object({
  email: z.string().nullable().meta({ description: 'null: the first operator, who chooses it' }),
  workspace: z.object({ id: z.uuid(), name: z.string() }).nullable(),
  role: roleField.nullable(),
  is_operator: z.boolean().meta({ description: 'the account may use the endpoints of the operator' }),
  has_account: z
    .boolean()
    .meta({ description: 'the address has an account: sign in first, then accept without a body' }),
})

const showJoin = route({
  name: 'show-invitation',
  summary: 'Show an invitation by its link; changes nothing',
  method: 'GET',
  paths: [`${JOIN_PATH}/:token`],
  atRoot: true,
  access: 'public',
  params: byToken,
  status: 200,
  response: envelope(invitationSchema),
  produces: ['text/html'],
  errors: ['NOT_FOUND', 'RATE_LIMITED'],
  refusalPage: (_ctx, refusal) => Promise.resolve(refusedLinkPage(refusal)),
  handle: async (ctx, { params: { token }, address, wantsPage }) => {
    const refusal = await limitLinks(ctx, address)
    if (refusal !== null) return refusal
    const found = await findInvitation(ctx.db, token)
    if (found === null) return INVALID_LINK
    const view = await viewOf(ctx, found, token)
    if (wantsPage) return joinPage(view)
    const { workspaceId, workspaceName, email, role, isOperator } = found
    const data = {
      email,
      workspace: workspaceId === null ? null : { id: workspaceId, name: workspaceName },
      role,
      is_operator: isOperator,
      has_account: view.isKnown,
    }
    return { body: { success: true, message: 'Post here to accept.', data } }
  },
})

async function viewOf(
  { db, identityProviders }: Pick<ApiContext, 'db' | 'identityProviders'>,
  found: Invitation,
  token: string,
): Promise<JoinPage> {
  const { email, workspaceName: workspace, role, isOperator } = found
  const isKnown = email !== null && (await findUser(db, { email })) !== null
  return { email, workspace, role, isOperator, isKnown, providers: [...identityProviders.values()], token }
}

const joinBody = z.object({
  email: userEmail.optional().meta({ description: 'for the first operator only; else it is that of the invitation' }),
  name: personName.optional().meta({ description: 'of a new account' }),
  password: newPassword.optional().meta({ description: 'of a new account' }),
})

const joinedSchema = z.object({ user_id: z.uuid(), workspace_id: z.uuid().nullable(), role: roleField.nullable() })

const join = route({
  name: 'accept-invitation',
  summary: 'Accept an invitation: create the account and sign in, or join as who is signed in',
  description:
    'With name and password the account is created, and the response sets the cookie of a session. Who has an ' +
    'account signs in first and sends neither.',
  method: 'POST',
  paths: [`${JOIN_PATH}/:token`],
  atRoot: true,
  access: 'public',
  params: byToken,
  body: joinBody,
  accepts: ['json', 'form'],
  status: 200,
  response: envelope(joinedSchema),
  produces: ['text/html'],
  errors: ['NOT_FOUND', 'FORBIDDEN', 'CONFLICT', 'RATE_LIMITED', 'SERVICE_UNAVAILABLE'],
  refusalPage: async (ctx, refusal, given) => {
    const token = given.params['token'] ?? ''
    const found = isCorrectable(refusal) ? await findInvitation(ctx.db, token) : null
    return found === null ? refusedLinkPage(refusal) : joinPage(await viewOf(ctx, found, token), refusal.message)
  },
  handle: async (ctx, request) => {
    const { params, body, address, headers, wantsPage } = request
    if (isForeign(ctx.config, headers)) return FOREIGN_LOGIN
    const limited = await limitLinks(ctx, address)
    if (limited !== null) return limited
    const person = await findPerson(ctx, { method: 'POST', headers })
    const joiner: Joiner = { token: params.token, address, headers, requestId: request.id }
    const joined = person === null ? await joinNew(ctx, joiner, body) : await joinAs(ctx, joiner, person)
    if (isRefusal(joined)) return joined
    const { result, cookie } = joined
    const { workspaceName, workspaceId, role } = result.invitation
    if (wantsPage) {
      const shown = joinedPage(workspaceName)
      return { ...shown, headers: { ...shown.headers, ...cookie } }
    }
    const data = { user_id: result.userId, workspace_id: workspaceId, role }
    return { headers: cookie, body: { success: true, message: 'You joined, and are signed in.', data } }
  },
})

/** The request that accepts an invitation. */
interface Joiner {
  readonly token: string
  readonly address: string
  readonly headers: IncomingHttpHeaders
  readonly requestId: string
}

interface Joined {
  readonly result: Extract<JoinResult, { kind: 'joined' }>
  /** The headers that set the cookie of a new session. */
  readonly cookie: Readonly<Record<string, string>>
}

function attributeTo({ db }: ApiContext, { address, requestId }: Joiner): AttributeTo {
  return (userId) => db.attributedTo(userActor('accept-invitation', userId, { address, id: requestId }))
}

/** Who is signed in keeps the session. */
async function joinAs(ctx: ApiContext, joiner: Joiner, person: SignedInUser): Promise<Joined | Refusal> {
  const result = await joinSignedIn(ctx.db, joiner.token, person, attributeTo(ctx, joiner))
  return result.kind === 'joined' ? { result, cookie: {} } : refuseJoin(result)
}

async function joinNew(ctx: ApiContext, joiner: Joiner, given: z.output<typeof joinBody>): Promise<Joined | Refusal> {
  const { token, address, headers } = joiner
  const invitation = await findInvitation(ctx.db, token)
  if (invitation === null) return INVALID_LINK
  const view = await viewOf(ctx, invitation, token)
  if (view.isKnown) return refuseJoin({ kind: 'has-account', email: invitation.email ?? '' })
  const account = readAccount(given, invitation.email)
  if (isRefusal(account)) return account
  const attribute = attributeTo(ctx, joiner)
  const result = await joinWithAccount(ctx.db, token, account, attribute)
  if (result.kind !== 'joined') return refuseJoin(result)
  const { userId } = result
  const login = { userId, methods: ['password'], address, userAgent: headers['user-agent'] ?? '' } as const
  const started = await completeLogin({ ...ctx, db: attribute(userId) }, { ...login, endedSessionId: null })
  return { result, cookie: sessionCookie(ctx.config, started.token) }
}

function readAccount(given: z.output<typeof joinBody>, invited: string | null): AccountDetails | Refusal {
  const email = invited ?? given.email ?? ''
  const { name = '', password = '' } = given
  const details: Detail[] = []
  if (email === '') details.push({ path: 'email', message: 'is required' })
  if (name === '') details.push({ path: 'name', message: 'is required' })
  const problem = findPasswordProblem(password, { email })
  if (problem !== null) details.push({ path: 'password', message: problem })
  return details.length > 0 ? invalid(details) : { email, name, password }
}

function refuseJoin(result: Exclude<JoinResult, { kind: 'joined' }>): Refusal {
  if (result.kind === 'invalid') return INVALID_LINK
  if (result.kind === 'overloaded') return OVERLOADED
  return result.kind === 'has-account'
    ? refuse('CONFLICT', `${result.email} has an account. Call login with it, then open this link again.`)
    : refuse('CONFLICT', `This invitation is for ${result.email}. Call logout, then open this link again.`)
}

/** The form can be sent again with other values. */
const isCorrectable = ({ error }: Refusal): boolean => error === 'VALIDATION_ERROR' || error === 'CONFLICT'

const showReset = route({
  name: 'show-password-reset',
  summary: 'Show whose password a link resets; changes nothing',
  method: 'GET',
  paths: [`${RESET_PATH}/:token`],
  atRoot: true,
  access: 'public',
  params: byToken,
  status: 200,
  response: envelope(z.object({ email: z.string() })),
  produces: ['text/html'],
  errors: ['NOT_FOUND', 'RATE_LIMITED'],
  refusalPage: (_ctx, refusal) => Promise.resolve(refusedLinkPage(refusal)),
  handle: async (ctx, { params: { token }, address, wantsPage }) => {
    const refusal = await limitLinks(ctx, address)
    if (refusal !== null) return refusal
    const found = await findReset(ctx.db, token)
    if (found === null) return INVALID_LINK
    if (wantsPage) return resetPage(found.email)
    return { body: { success: true, message: 'Post the new password here.', data: { email: found.email } } }
  },
})

const reset = route({
  name: 'reset-password',
  summary: 'Choose a new password by a link; all sessions of the user end',
  method: 'POST',
  paths: [`${RESET_PATH}/:token`],
  atRoot: true,
  access: 'public',
  params: byToken,
  body: z.object({ password: newPassword }),
  accepts: ['json', 'form'],
  status: 200,
  response: plainResponse,
  produces: ['text/html'],
  errors: ['NOT_FOUND', 'FORBIDDEN', 'RATE_LIMITED', 'SERVICE_UNAVAILABLE'],
  refusalPage: async (ctx, refusal, given) => {
    const found = isCorrectable(refusal) ? await findReset(ctx.db, given.params['token'] ?? '') : null
    return found === null ? refusedLinkPage(refusal) : resetPage(found.email, refusal.message)
  },
  handle: async (ctx, request) => {
    const { params, body, address, headers, wantsPage } = request
    if (isForeign(ctx.config, headers)) return FOREIGN_LOGIN
    const limited = await limitLinks(ctx, address)
    if (limited !== null) return limited
    const found = await findReset(ctx.db, params.token)
    if (found === null) return INVALID_LINK
    const problem = findPasswordProblem(body.password, found)
    if (problem !== null) return invalid([{ path: 'password', message: problem }])
    const hashed = await hashPassword(body.password)
    if (hashed === null) return OVERLOADED
    const db = ctx.db.attributedTo(userActor('reset-password', found.userId, { address, id: request.id }))
    if (!(await consumeReset(db, params.token, hashed))) return INVALID_LINK
    return wantsPage ? resetDonePage() : { body: { success: true, message: 'The password is changed.' } }
  },
})

export const ONE_TIME_ROUTES: readonly AnyRoute[] = [showJoin, join, showReset, reset]
