/**
 * The login with email address and password. Unknown users and wrong passwords take the same time and give the same
 * result. Attempts are limited by account and network, by network, and by account; each longer window allows fewer per
 * hour, so that the wait grows. All attempts count before the password is checked, so that many at once gain nothing;
 * a success clears the count of its account and network.
 *
 * `completeLogin` is the only way to a session. Other ways to sign in check what they need and then call it; a second
 * factor belongs between `checkLogin` and it (decision 074).
 */
import { hash } from 'node:crypto'
import type { Context } from '#src/context.ts'
import { networkOf } from '#src/net/address-policy.ts'
import type { AttemptLimit, AttemptLimiter } from '#src/rate-limits/attempt-limits.ts'
import { sql } from '#src/stores/sql.ts'
import { checkPassword, hashPassword } from './passwords.ts'
import { endSessions, startSession, type LoginMethodKind, type StartedSession } from './user-sessions.ts'
import { readPasswordHash, storePassword } from './users.ts'

export interface LoginAttempt {
  readonly email: string
  readonly password: string
  readonly address: string
}

export type LoginCheck =
  | { readonly kind: 'right'; readonly userId: string }
  /** Unknown, disabled, without a password, or it is wrong. */
  | { readonly kind: 'wrong' }
  | { readonly kind: 'limited'; readonly seconds: number }
  | { readonly kind: 'overloaded' }

export type LoginDeps = Pick<Context, 'db' | 'config'> & { readonly attempts: AttemptLimiter }

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

type LimitSteps = readonly AttemptLimit[]

/** Of one account from one network: the wait grows from half a minute to a day. */
const PAIR_LIMITS: LimitSteps = [
  { max: 5, windowMs: MINUTE_MS / 2 },
  { max: 10, windowMs: 10 * MINUTE_MS },
  { max: 20, windowMs: 2 * HOUR_MS },
  { max: 40, windowMs: 24 * HOUR_MS },
]
/** Of all accounts from one network. */
const NETWORK_LIMITS: LimitSteps = [
  { max: 60, windowMs: MINUTE_MS },
  { max: 600, windowMs: HOUR_MS },
]
/** Of one account from all networks: above that of a pair, so that one network cannot lock somebody out. */
const ACCOUNT_LIMITS: LimitSteps = [
  { max: 60, windowMs: 10 * MINUTE_MS },
  { max: 300, windowMs: 24 * HOUR_MS },
]

interface Counter {
  readonly name: string
  readonly limit: AttemptLimit
}

function countersOf(subject: string, limits: LimitSteps): Counter[] {
  return limits.map((limit) => ({ name: `login ${limit.windowMs} ${subject}`, limit }))
}

function pairCounters(email: string, address: string): Counter[] {
  return countersOf(`pair ${digest(`${email}\n${networkOf(address)}`)}`, PAIR_LIMITS)
}

/** Keys in Redis are no list of addresses. */
function digest(text: string): string {
  return hash('sha256', text, 'hex').slice(0, 32)
}

/** Counts one attempt. The seconds to wait if it is one too many. */
async function countAttempt(attempts: AttemptLimiter, email: string, address: string): Promise<number | null> {
  const counters = [
    ...countersOf(`network ${networkOf(address)}`, NETWORK_LIMITS),
    ...pairCounters(email, address),
    ...countersOf(`account ${digest(email)}`, ACCOUNT_LIMITS),
  ]
  // one after the other: an attempt that a narrow limit refuses does not count in the wider ones
  for (const { name, limit } of counters) {
    const wait = await attempts.consume(name, limit)
    if (wait !== null) return wait
  }
  return null
}

const FIND = sql`
  SELECT u.id, l.secret, u.disabled_at IS NOT NULL AS "isDisabled"
  FROM users u
  LEFT JOIN login_methods l ON l.user_id = u.id AND l.kind = 'password'
  WHERE u.email = $1
`

/** Checks the password, and starts nothing. */
export async function checkLogin({ db, attempts }: LoginDeps, attempt: LoginAttempt): Promise<LoginCheck> {
  const email = attempt.email.toLowerCase()
  const seconds = await countAttempt(attempts, email, attempt.address)
  if (seconds !== null) return { kind: 'limited', seconds }
  const { rows } = await db.query<{ id: string; secret: string | null; isDisabled: boolean }>(FIND, [email])
  const [user] = rows
  const checked = await checkPassword(attempt.password, user?.secret ?? null)
  if (checked.kind === 'overloaded') return checked
  if (checked.kind === 'wrong' || user === undefined || user.isDisabled) return { kind: 'wrong' }
  await Promise.all(pairCounters(email, attempt.address).map(({ name }) => attempts.forget(name)))
  if (checked.isOutdated) await rehash({ db }, user.id, attempt.password)
  return { kind: 'right', userId: user.id }
}

async function rehash({ db }: Pick<LoginDeps, 'db'>, userId: string, password: string): Promise<void> {
  const stronger = await hashPassword(password)
  if (stronger !== null) await storePassword(db, userId, stronger)
}

export interface CompletedLogin {
  readonly userId: string
  /** All factors that were checked, the first one first. */
  readonly methods: readonly LoginMethodKind[]
  readonly address: string
  readonly userAgent: string
  /** The session that the browser had before, which ends. */
  readonly endedSessionId: string | null
}

/** Starts the session of a login whose factors are all checked. */
export function completeLogin(
  { db, config }: Pick<LoginDeps, 'db' | 'config'>,
  { endedSessionId, ...login }: CompletedLogin,
): Promise<StartedSession> {
  return db.transaction(async (tx) => {
    if (endedSessionId !== null) await tx.query('DELETE FROM user_sessions WHERE id = $1', [endedSessionId])
    await tx.query('UPDATE login_methods SET last_used_at = now() WHERE user_id = $1 AND kind = ANY ($2)', [
      login.userId,
      login.methods,
    ])
    return startSession(tx, config, login)
  })
}

export interface PasswordChange {
  readonly userId: string
  readonly email: string
  readonly sessionId: string
  readonly present: string
  readonly next: string
  readonly address: string
}

export type PasswordChangeResult =
  | { readonly kind: 'changed'; readonly endedSessions: number }
  | Exclude<LoginCheck, { kind: 'right' }>

/** Needs the present password, which is limited as a login is. Ends all other sessions of the user. */
export async function changePassword(
  { db, attempts }: LoginDeps,
  { userId, email, sessionId, present, next, address }: PasswordChange,
): Promise<PasswordChangeResult> {
  const seconds = await countAttempt(attempts, email, address)
  if (seconds !== null) return { kind: 'limited', seconds }
  const checked = await checkPassword(present, await readPasswordHash(db, userId))
  if (checked.kind !== 'right') return checked
  await Promise.all(pairCounters(email, address).map(({ name }) => attempts.forget(name)))
  const hashed = await hashPassword(next)
  if (hashed === null) return { kind: 'overloaded' }
  const endedSessions = await db.transaction(async (tx) => {
    await storePassword(tx, userId, hashed)
    await tx.query('DELETE FROM password_resets WHERE user_id = $1', [userId])
    return endSessions(tx, userId, sessionId)
  })
  return { kind: 'changed', endedSessions }
}
