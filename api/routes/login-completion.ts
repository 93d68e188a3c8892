/** The end of every login: the session starts, and the response sets its cookie. */
import type { IncomingHttpHeaders } from 'node:http'
import { completeLogin } from '#src/people/login.ts'
import type { LoginMethodKind, StartedSession } from '#src/people/user-sessions.ts'
import { refuse } from '#src/platform/errors.ts'
import type { Actor } from '#src/stores/audit.ts'
import type { ApiContext } from '#api/http/context.ts'
import { findPerson } from '#api/http/session-access.ts'

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

export interface CheckedLogin {
  /** The name of the route, for the audit log. */
  readonly action: string
  readonly userId: string
  readonly methods: readonly LoginMethodKind[]
}

/** Starts the session, and ends the one that the browser had. */
export async function startLoginSession(
  ctx: ApiContext,
  source: LoginSource,
  { action, userId, methods }: CheckedLogin,
): Promise<StartedSession> {
  const before = await findPerson(ctx, { headers: source.headers })
  const db = ctx.db.attributedTo(userActor(action, userId, source))
  return completeLogin(
    { ...ctx, db },
    {
      userId,
      methods,
      address: source.address,
      userAgent: source.headers['user-agent'] ?? '',
      endedSessionId: before?.sessionId ?? null,
    },
  )
}
