/**
 * The end of every login: the second factor if the user has one, then the session, whose cookie the response sets. A
 * passkey that begins a login is two factors, and nothing more is asked for.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { completeLogin } from '#src/people/login.ts'
import { beginSecondFactor, listSecondFactors } from '#src/people/second-factors.ts'
import type { LoginMethodKind } from '#src/people/user-sessions.ts'
import { refuse } from '#src/platform/errors.ts'
import type { Actor } from '#src/stores/audit.ts'
import type { ApiContext } from '#api/http/context.ts'
import type { ApiResponse } from '#api/http/route.ts'
import { findPerson } from '#api/http/session-access.ts'
import { sessionCookie } from '#api/http/session-cookie.ts'
import { presentProgress, type LoginProgress } from './person-fields.ts'

export const FOREIGN_LOGIN = refuse('FORBIDDEN', 'Another site made this request. Use the pages of this service.')

/** The request of a login. */
export interface LoginSource {
  readonly id: string
  readonly address: string
  readonly headers: IncomingHttpHeaders
}

/** What a person does before the request has a session. */
export function userActor(action: string, userId: string, source: Pick<LoginSource, 'address' | 'id'>): Actor {
  return { kind: 'user', name: userId, action, workspaceId: null, address: source.address, requestId: source.id }
}

/** The response to a program: the cookie once the session has started. */
export function respondToLogin(ctx: Pick<ApiContext, 'config'>, progress: LoginProgress): ApiResponse {
  const data = presentProgress(progress)
  if (progress.kind === 'second-factor')
    return { body: { success: true, message: 'Send the second factor with finish-login.', data } }
  const headers = sessionCookie(ctx.config, progress.started.token)
  return { headers, body: { success: true, message: 'You are signed in.', data } }
}

export interface CheckedLogin {
  /** The name of the route, for the audit log. */
  readonly action: string
  readonly userId: string
  readonly methods: readonly LoginMethodKind[]
}

/** After the first factor. */
export async function continueLogin(
  ctx: ApiContext,
  source: LoginSource,
  checked: CheckedLogin,
): Promise<LoginProgress> {
  const factors = await listSecondFactors(ctx.db, checked.userId)
  if (factors.length === 0) return startLoginSession(ctx, source, checked)
  return { kind: 'second-factor', token: await beginSecondFactor(ctx.db, checked.userId, checked.methods), factors }
}

/** After all factors: starts the session, and ends the one that the browser had. */
export async function startLoginSession(
  ctx: ApiContext,
  source: LoginSource,
  { action, userId, methods }: CheckedLogin,
): Promise<Extract<LoginProgress, { kind: 'signed-in' }>> {
  const before = await findPerson(ctx, { headers: source.headers })
  const db = ctx.db.attributedTo(userActor(action, userId, source))
  const started = await completeLogin(
    { ...ctx, db },
    {
      userId,
      methods,
      address: source.address,
      userAgent: source.headers['user-agent'] ?? '',
      endedSessionId: before?.sessionId ?? null,
    },
  )
  return { kind: 'signed-in', userId, started }
}
