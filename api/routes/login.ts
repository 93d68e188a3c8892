/**
 * Signing in and out, the own sessions and password. A login gives the same answer for an unknown user and a wrong
 * password. It always starts a new session with a new token, and ends the one that the browser had.
 */
import { z } from 'zod'
import { changePassword, checkLogin } from '#src/people/login.ts'
import { listMemberships } from '#src/people/members.ts'
import { findPasswordProblem } from '#src/people/passwords.ts'
import { ROLES } from '#src/people/roles.ts'
import { endSession, endSessions, listSessions, type SignedInUser } from '#src/people/user-sessions.ts'
import { invalid, refuse } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import { envelope, plainResponse, timestamp } from '#api/http/response-schemas.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { isForeign } from '#api/http/same-origin.ts'
import { needsSecondFactor } from '#api/http/session-access.ts'
import { sessionCookie } from '#api/http/session-cookie.ts'
import { continueLogin, FOREIGN_LOGIN, respondToLogin } from './login-completion.ts'
import { countText } from '#src/platform/plural.ts'
import {
  givenPassword,
  loginEmail,
  newPassword,
  permissionField,
  refuseLogin,
  roleField,
  startedSession,
  uuidParam,
} from './person-fields.ts'
import { mayCreateWorkspaces } from './own-workspaces.ts'

const WRONG = refuse('UNAUTHORIZED', 'The email address or the password is wrong. Check both.')
const WRONG_PRESENT = refuse('FORBIDDEN', 'The present password is wrong. Check it.')
const NO_SESSION = refuse('NOT_FOUND', 'You have no such session. List them with list-sessions.')

const login = route({
  name: 'login',
  summary: 'Sign in with email address and password; the response sets the cookie of a new session',
  description:
    'An unknown address and a wrong password get the same answer. Attempts are limited, and the wait grows with ' +
    'them. If the user has a second factor, the response has a login_token for finish-login instead of a session.',
  method: 'POST',
  paths: ['/auth/login'],
  access: 'public',
  body: z.object({ email: loginEmail, password: givenPassword }),
  status: 200,
  response: envelope(startedSession).meta({ id: 'LoginAnswer' }),
  errors: ['UNAUTHORIZED', 'FORBIDDEN', 'RATE_LIMITED', 'SERVICE_UNAVAILABLE'],
  handle: async (ctx, request) => {
    const { body, headers, address } = request
    if (isForeign(ctx.config, headers)) return FOREIGN_LOGIN
    const checked = await checkLogin(ctx, { ...body, address })
    if (checked.kind !== 'right') return refuseLogin(checked, WRONG)
    const { userId } = checked
    return respondToLogin(ctx, await continueLogin(ctx, request, { action: 'login', userId, methods: ['password'] }))
  },
})

const logout = route({
  name: 'logout',
  summary: 'Sign out: end the session of this request',
  method: 'POST',
  paths: ['/auth/logout'],
  access: 'person',
  status: 200,
  response: plainResponse,
  errors: [],
  handle: async (ctx, { person }) => {
    await endSession(ctx.db, person.userId, person.sessionId)
    return { headers: sessionCookie(ctx.config, ''), body: { success: true, message: 'You are signed out.' } }
  },
})

const me = z
  .object({
    user: z.object({ id: z.uuid(), email: z.string(), name: z.string() }),
    is_operator: z.boolean().meta({ description: 'may use the endpoints of the operator' }),
    may_create_workspaces: z.boolean(),
    needs_second_factor: z
      .boolean()
      .meta({ description: 'the service requires a second factor: add one before anything else' }),
    session_id: z.uuid(),
    workspaces: z.array(
      z.object({
        id: z.uuid(),
        name: z.string(),
        plan: z.string(),
        role: roleField,
        permissions: z.array(permissionField).meta({ description: 'what the role may do' }),
      }),
    ),
  })
  .meta({ id: 'Me' })

const getMe = route({
  name: 'get-me',
  summary: 'Get who is signed in, with their workspaces, roles and permissions',
  method: 'GET',
  paths: ['/auth/me'],
  access: 'person',
  status: 200,
  response: envelope(me).meta({ id: 'MeAnswer' }),
  errors: [],
  handle: async (ctx, { person }) => {
    const workspaces = await listMemberships(ctx.db, person.userId)
    const data = {
      user: { id: person.userId, email: person.email, name: person.name },
      is_operator: person.isOperator,
      may_create_workspaces: mayCreateWorkspaces(ctx, person, workspaces),
      needs_second_factor: needsSecondFactor(ctx.config, person),
      session_id: person.sessionId,
      workspaces: workspaces.map(({ workspaceId, name, plan, role }) => ({
        id: workspaceId,
        name,
        plan,
        role,
        permissions: ROLES[role],
      })),
    }
    return { body: { success: true, message: `Signed in as ${person.email}.`, data } }
  },
})

const sessionSchema = z
  .object({
    id: z.uuid(),
    is_current: z.boolean().meta({ description: 'the session of this request' }),
    methods: z.array(z.string()).meta({ description: 'what the person signed in with' }),
    ip_address: z.string().meta({ description: 'the address of the client at the login' }),
    user_agent: z.string(),
    created_at: timestamp,
    last_used_at: timestamp.meta({ description: 'to a minute' }),
    expires_at: timestamp.meta({ description: 'at the latest' }),
  })
  .meta({ id: 'Session' })

const getSessions = route({
  name: 'list-sessions',
  summary: 'List your sessions, the last used first',
  method: 'GET',
  paths: ['/auth/sessions'],
  access: 'person',
  status: 200,
  response: envelope(z.object({ sessions: z.array(sessionSchema) })),
  errors: [],
  handle: async (ctx, { person }) => {
    const found = await listSessions(ctx.db, ctx.config, person.userId)
    const sessions = found.map((session) => ({
      id: session.id,
      is_current: session.id === person.sessionId,
      methods: session.methods,
      ip_address: session.address,
      user_agent: session.userAgent,
      created_at: session.createdAt.toISOString(),
      last_used_at: session.lastUsedAt.toISOString(),
      expires_at: session.expiresAt.toISOString(),
    }))
    return { body: { success: true, message: `${countText(sessions.length, 'session')}.`, data: { sessions } } }
  },
})

const endOne = route({
  name: 'end-session',
  summary: 'End one of your sessions',
  method: 'DELETE',
  paths: ['/auth/sessions/:id'],
  access: 'person',
  params: uuidParam,
  status: 200,
  response: plainResponse,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { person, params: { id } }) =>
    isUuid(id) && (await endSession(ctx.db, person.userId, id))
      ? { body: { success: true, message: 'The session has ended.' } }
      : NO_SESSION,
})

const endedCount = envelope(z.object({ ended_sessions: z.int().min(0) }))

const endOthers = route({
  name: 'end-other-sessions',
  summary: 'End all your sessions except that of this request',
  method: 'DELETE',
  paths: ['/auth/sessions'],
  access: 'person',
  status: 200,
  response: endedCount,
  errors: [],
  handle: async (ctx, { person }) => {
    const ended = await endSessions(ctx.db, person.userId, person.sessionId)
    return {
      body: {
        success: true,
        message: `${countText(ended, 'session has', 'sessions have')} ended.`,
        data: { ended_sessions: ended },
      },
    }
  },
})

const password = route({
  name: 'change-password',
  summary: 'Change your password; all your other sessions end',
  method: 'POST',
  paths: ['/auth/password'],
  access: 'person',
  body: z.object({ present_password: givenPassword, new_password: newPassword }),
  status: 200,
  response: endedCount,
  errors: ['FORBIDDEN', 'SERVICE_UNAVAILABLE'],
  handle: async (ctx, { person, body, address }) => {
    const problem = problemOf(body.new_password, person)
    if (problem !== null) return invalid([{ path: 'new_password', message: problem }])
    const { present_password: present, new_password: next } = body
    const result = await changePassword(ctx, { ...person, present, next, address })
    if (result.kind !== 'changed') return refuseLogin(result, WRONG_PRESENT)
    const data = { ended_sessions: result.endedSessions }
    return { body: { success: true, message: 'Your password is changed.', data } }
  },
})

const problemOf = (text: string, { email }: SignedInUser): string | null => findPasswordProblem(text, { email })

export const LOGIN_ROUTES: readonly AnyRoute[] = [login, logout, getMe, getSessions, endOne, endOthers, password]
