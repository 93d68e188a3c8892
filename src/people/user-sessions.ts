/**
 * Sessions of signed-in people. Every login starts a new one with a new token, so a token that an attacker planted
 * before it is worth nothing. A session ends when it was not used for SESSION_IDLE_HOURS, at SESSION_MAX_DAYS, when it
 * is ended, and with its user. It is read from PostgreSQL at each request, together with the role in the workspace, so
 * an end or another role counts at once. PostgreSQL unavailable: the call rejects, and the person stays signed in.
 */
import type { Config } from '#config/load.ts'
import { newId } from '#src/platform/id.ts'
import { suspendedEntirely } from '#src/queue/suspensions.ts'
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import type { MemberRole } from './roles.ts'
import { hashSecretToken, newSecretToken } from './secret-token.ts'

/** How somebody signs in: `kind` in login_methods. */
export type LoginMethodKind = 'password' | 'oidc' | 'passkey' | 'totp' | 'recovery_codes'

/** The person of a request. */
export interface SignedInUser {
  readonly userId: string
  readonly email: string
  readonly name: string
  readonly isOperator: boolean
  readonly sessionId: string
  /** When the session began. */
  readonly signedInAt: Date
  /** What was checked at the login, and since then. */
  readonly methods: readonly LoginMethodKind[]
}

export interface UserSession {
  readonly id: string
  readonly methods: readonly LoginMethodKind[]
  readonly address: string
  readonly userAgent: string
  readonly createdAt: Date
  readonly lastUsedAt: Date
  readonly expiresAt: Date
}

export interface NewSession {
  readonly userId: string
  readonly methods: readonly LoginMethodKind[]
  /** The IP address and User-Agent of the client. */
  readonly address: string
  readonly userAgent: string
}

export interface StartedSession {
  /** For the cookie; it is not stored. */
  readonly token: string
  readonly id: string
  readonly expiresAt: Date
}

type SessionTimes = Pick<Config, 'sessionIdleHours' | 'sessionMaxDays'>

const MAX_USER_AGENT = 300

/** Starts a session. Only for a login that is complete, with all its factors (`login.ts`). */
export async function startSession(
  db: Queryable,
  { sessionMaxDays }: Pick<SessionTimes, 'sessionMaxDays'>,
  { userId, methods, address, userAgent }: NewSession,
): Promise<StartedSession> {
  const token = newSecretToken()
  const id = newId()
  const { rows } = await db.query<{ expiresAt: Date }>(
    sql`
      INSERT INTO user_sessions (id, token_hash, user_id, methods, address, user_agent, expires_at)
      VALUES ($1, $2, $3, $4, $5, $6, now() + make_interval(days => $7))
      RETURNING expires_at AS "expiresAt"
    `,
    [id, hashSecretToken(token), userId, methods, address, userAgent.slice(0, MAX_USER_AGENT), sessionMaxDays],
  )
  return { token, id, expiresAt: rows[0]?.expiresAt ?? new Date() }
}

/** The workspace that a request names, as far as the person is a member of it. */
export interface MemberWorkspace {
  readonly workspaceId: string
  readonly role: MemberRole
  readonly plan: string
  readonly replyTo: string | null
  readonly isSuspended: boolean
}

export interface FoundSession {
  readonly user: SignedInUser
  /** Null: none was named, it does not exist, or the person is not a member. */
  readonly membership: MemberWorkspace | null
  /** Its last use was more than a minute ago. */
  readonly isStale: boolean
}

const LIVE = sql`
  s.expires_at > now() AND s.last_used_at > now() - make_interval(hours => $2) AND u.disabled_at IS NULL
`

const FIND = sql`
  SELECT l.n::int AS n, u.id AS "userId", u.email, u.name, u.is_operator AS "isOperator", s.id AS "sessionId",
    s.created_at AS "signedInAt", s.methods, s.last_used_at < now() - interval '1 minute' AS "isStale",
    CASE
      WHEN w.id IS NOT NULL THEN json_build_object(
        'workspaceId', w.id, 'role', m.role, 'plan', w.plan, 'replyTo', w.reply_to,
        'isSuspended', ${suspendedEntirely('w.id')}
      )
    END AS membership
  FROM unnest($1::bytea[], $3::uuid[]) WITH ORDINALITY AS l (token_hash, workspace_id, n)
  JOIN user_sessions s ON s.token_hash = l.token_hash
  JOIN users u ON u.id = s.user_id
  LEFT JOIN workspace_members m ON m.user_id = u.id AND m.workspace_id = l.workspace_id
  LEFT JOIN workspaces w ON w.id = m.workspace_id
  WHERE ${LIVE}
`

const TOUCH = `UPDATE user_sessions SET last_used_at = now() WHERE id = $1`

export interface SessionLookup {
  readonly token: string
  /** A uuid; null: no workspace. */
  readonly workspaceId: string | null
}

/** Finds the session of a request, which keeps it alive; null if there is none, or it has ended. */
export async function findSession(
  db: Queryable,
  times: Pick<SessionTimes, 'sessionIdleHours'>,
  lookup: SessionLookup,
): Promise<FoundSession | null> {
  const [found = null] = await findSessions(db, times, [lookup])
  if (found?.isStale === true) await db.query(TOUCH, [found.user.sessionId])
  return found
}

/** Finds the sessions of many tokens with one statement, in their order. It keeps none alive: a stream is no use. */
export async function findSessions(
  db: Queryable,
  { sessionIdleHours }: Pick<SessionTimes, 'sessionIdleHours'>,
  lookups: readonly SessionLookup[],
): Promise<(FoundSession | null)[]> {
  const found = lookups.map((): FoundSession | null => null)
  const hashes = lookups.map(({ token }) => hashSecretToken(token))
  if (hashes.every((hash) => hash === null)) return found
  const { rows } = await db.query<SessionRow>(FIND, [
    hashes,
    sessionIdleHours,
    lookups.map(({ workspaceId }) => workspaceId),
  ])
  for (const { n, isStale, membership, ...user } of rows) found[n - 1] = { user, membership, isStale }
  return found
}

type SessionRow = SignedInUser & {
  readonly n: number
  readonly isStale: boolean
  readonly membership: MemberWorkspace | null
}

/** Whether more than a password was checked. What a provider asks for is its own policy. */
export function hasSecondFactor({ methods }: Pick<SignedInUser, 'methods'>): boolean {
  return methods.some((kind) => kind !== 'password')
}

/** Whether a session has not ended, and its user may sign in. */
export async function isSessionLive(
  db: Queryable,
  { sessionIdleHours }: Pick<SessionTimes, 'sessionIdleHours'>,
  id: string,
): Promise<boolean> {
  const { rows } = await db.query(
    `SELECT FROM user_sessions s JOIN users u ON u.id = s.user_id WHERE s.id = $1 AND ${LIVE}`,
    [id, sessionIdleHours],
  )
  return rows.length > 0
}

/** The sessions of a user that have not ended, the last used first. */
export async function listSessions(
  db: Queryable,
  { sessionIdleHours }: Pick<SessionTimes, 'sessionIdleHours'>,
  userId: string,
): Promise<UserSession[]> {
  const { rows } = await db.query<UserSession>(
    sql`
      SELECT s.id, s.methods, s.address, s.user_agent AS "userAgent", s.created_at AS "createdAt",
        s.last_used_at AS "lastUsedAt", s.expires_at AS "expiresAt"
      FROM user_sessions s
      JOIN users u ON u.id = s.user_id
      WHERE s.user_id = $1 AND ${LIVE}
      ORDER BY s.last_used_at DESC, s.id DESC
      LIMIT 500
    `,
    [userId, sessionIdleHours],
  )
  return rows
}

/** Ends one session of the user. False if the user has no such session. */
export async function endSession(db: Queryable, userId: string, id: string): Promise<boolean> {
  const { rowCount } = await db.query('DELETE FROM user_sessions WHERE user_id = $1 AND id = $2', [userId, id])
  return rowCount === 1
}

/** Ends all sessions of the user, except one if it is given, and logins that wait for a factor. Returns how many. */
export async function endSessions(db: Queryable, userId: string, exceptId: string | null = null): Promise<number> {
  await db.query('DELETE FROM pending_logins WHERE user_id = $1 AND session_id IS NULL', [userId])
  const { rowCount } = await db.query(
    'DELETE FROM user_sessions WHERE user_id = $1 AND ($2::uuid IS NULL OR id <> $2)',
    [userId, exceptId],
  )
  return rowCount ?? 0
}

/** Sessions that have ended by time, logins that were not completed, and links that cannot be used any more. */
export function deleteEndedSql(sessionIdleHours: number): readonly string[] {
  return [
    `DELETE FROM user_sessions WHERE expires_at < now() OR last_used_at < now() - interval '${sessionIdleHours} hours'`,
    'DELETE FROM password_resets WHERE expires_at < now()',
    'DELETE FROM email_changes WHERE expires_at < now()',
    'DELETE FROM pending_logins WHERE expires_at < now()',
    sql`
      DELETE FROM invitations
      WHERE least(expires_at, accepted_at, revoked_at) < now() - interval '90 days'`,
  ]
}
