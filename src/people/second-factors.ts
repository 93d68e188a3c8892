/**
 * The second factor of a login: a code of an authenticator app, a recovery code or a passkey. A login whose first
 * factor was right gets a token, of which only the SHA-256 is stored, for ten minutes. Attempts are counted for the
 * user over all logins, since somebody who knows the password begins as many as they like, and before the code is
 * checked, so that many at once gain nothing.
 *
 * An authenticator app is stored when a code of it has arrived: until then its secret is with the browser, encrypted
 * for this service and the user.
 */
import type { Config } from '#config/load.ts'
import type { Encryption } from '#src/crypto/encryption.ts'
import type { Clock } from '#src/platform/clock.ts'
import { newId } from '#src/platform/id.ts'
import type { AttemptLimit, AttemptLimiter } from '#src/rate-limits/attempt-limits.ts'
import type { Db, Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { consumePendingLogin, createPendingLogin, findPendingLogin } from './pending-logins.ts'
import { consumeRecoveryCode, renewRecoveryCodes } from './recovery-codes.ts'
import { newTotpSecret, stepOfCode, totpUri } from './totp.ts'
import { endSessions, type LoginMethodKind, type SignedInUser } from './user-sessions.ts'

export interface SecondFactorContext {
  readonly db: Db
  readonly config: Config
  readonly clock: Clock
  readonly encryption: Pick<Encryption, 'encrypt' | 'decrypt'>
  readonly attempts: AttemptLimiter
}

/** Of one user, over all logins. */
const USER_LIMITS: readonly AttemptLimit[] = [
  { max: 5, windowMs: 60_000 },
  { max: 10, windowMs: 10 * 60_000 },
  { max: 50, windowMs: 24 * 3_600_000 },
]
const ENROLMENT_MS = 10 * 60_000

/** The second factors that the user has, apart from recovery codes; none means that none is asked for. */
export async function listSecondFactors(db: Queryable, userId: string): Promise<LoginMethodKind[]> {
  const { rows } = await db.query<{ kind: LoginMethodKind }>(
    sql`
      SELECT DISTINCT kind
      FROM login_methods
      WHERE user_id = $1 AND kind IN ('totp', 'passkey', 'recovery_codes')
      ORDER BY kind
    `,
    [userId],
  )
  const kinds = rows.map(({ kind }) => kind)
  return kinds.some((kind) => kind !== 'recovery_codes') ? kinds : []
}

interface PendingDetails {
  /** What was checked so far. */
  readonly methods: readonly LoginMethodKind[]
}

/** The token with which the login goes on. */
export function beginSecondFactor(db: Queryable, userId: string, methods: readonly LoginMethodKind[]): Promise<string> {
  const details: PendingDetails = { methods }
  return createPendingLogin(db, { kind: 'second-factor', browser: null, userId, sessionId: null, details })
}

export type SecondFactorResult =
  | { readonly kind: 'right'; readonly userId: string; readonly methods: readonly LoginMethodKind[] }
  /** The token is unknown, used or too old: the login begins again. */
  | { readonly kind: 'ended' }
  | { readonly kind: 'wrong' }
  | { readonly kind: 'limited'; readonly seconds: number }

/** Checks what the person sent as second factor; returns its kind, or null if it is wrong. */
export type FactorCheck = (userId: string) => Promise<LoginMethodKind | null>

/** `check` runs only within the limits. The token is used up by a success. */
export async function finishSecondFactor(
  { db, attempts }: Pick<SecondFactorContext, 'db' | 'attempts'>,
  token: string,
  check: FactorCheck,
): Promise<SecondFactorResult> {
  const pending = await findPendingLogin<PendingDetails>(db, 'second-factor', token)
  if (pending?.userId == null) return { kind: 'ended' }
  const { userId } = pending
  const seconds = await countAttempt(attempts, userId)
  if (seconds !== null) return { kind: 'limited', seconds }
  const kind = await check(userId)
  if (kind === null) return { kind: 'wrong' }
  if ((await consumePendingLogin(db, 'second-factor', token)) === null) return { kind: 'ended' }
  await Promise.all(USER_LIMITS.slice(0, 2).map((limit) => attempts.forget(counterName(userId, limit))))
  return { kind: 'right', userId, methods: [...pending.details.methods, kind] }
}

const counterName = (userId: string, { windowMs }: AttemptLimit): string => `second factor ${windowMs} ${userId}`

async function countAttempt(attempts: AttemptLimiter, userId: string): Promise<number | null> {
  for (const limit of USER_LIMITS) {
    const wait = await attempts.consume(counterName(userId, limit), limit)
    if (wait !== null) return wait
  }
  return null
}

/** A code of the authenticator app, or a recovery code. */
export function codeCheck(ctx: Omit<SecondFactorContext, 'attempts' | 'config'>, code: string): FactorCheck {
  const text = code.trim()
  return async (userId) => {
    if (/^\d{3} ?\d{3}$/.test(text)) return (await useTotpCode(ctx, userId, text.replace(' ', ''))) ? 'totp' : null
    return (await consumeRecoveryCode(ctx.db, userId, text)) ? 'recovery_codes' : null
  }
}

const USE_STEP = sql`
  UPDATE login_methods
  SET details = jsonb_set(details, '{step}', to_jsonb($2::bigint)), last_used_at = now()
  WHERE user_id = $1 AND kind = 'totp' AND (details ->> 'step')::bigint < $2
`

/** Each code works once, also if it is sent twice at the same time. */
async function useTotpCode(
  { db, encryption, clock }: Pick<SecondFactorContext, 'db' | 'encryption' | 'clock'>,
  userId: string,
  code: string,
): Promise<boolean> {
  const { rows } = await db.query<{ encrypted: Buffer }>(
    `SELECT encrypted FROM login_methods WHERE user_id = $1 AND kind = 'totp'`,
    [userId],
  )
  const [row] = rows
  if (row === undefined) return false
  const secret = encryption.decrypt('totp-secret', row.encrypted).toString()
  const step = stepOfCode(secret, code, clock.now())
  if (step === null) return false
  return (await db.query(USE_STEP, [userId, step])).rowCount === 1
}

interface Enrolment {
  readonly secret: string
  readonly userId: string
  readonly until: number
}

export interface StartedEnrolment {
  readonly secret: string
  readonly uri: string
  /** For the confirmation: the secret, encrypted. */
  readonly enrolment: string
}

/** Stores nothing. */
export function startTotp(
  { encryption, clock, config }: Pick<SecondFactorContext, 'encryption' | 'clock' | 'config'>,
  { userId, email }: Pick<SignedInUser, 'userId' | 'email'>,
): StartedEnrolment {
  const secret = newTotpSecret()
  const content: Enrolment = { secret, userId, until: clock.now() + ENROLMENT_MS }
  return {
    secret,
    uri: totpUri(secret, { issuer: new URL(config.publicUrl).hostname, email }),
    enrolment: encryption.encrypt('totp-secret', JSON.stringify(content)).toString('base64url'),
  }
}

export type ConfirmedTotp =
  | { readonly kind: 'added'; readonly recoveryCodes: readonly string[] }
  | { readonly kind: 'wrong-code' }
  /** Too old, or of another user. */
  | { readonly kind: 'ended' }
  | { readonly kind: 'exists' }

/** Adds the app, and recovery codes. All other sessions of the user end: they began without it. */
export async function confirmTotp(
  { db, encryption, clock }: Pick<SecondFactorContext, 'db' | 'encryption' | 'clock'>,
  { userId, sessionId }: Pick<SignedInUser, 'userId' | 'sessionId'>,
  { enrolment, code }: { readonly enrolment: string; readonly code: string },
): Promise<ConfirmedTotp> {
  const content = readEnrolment({ encryption }, enrolment)
  if (content === null || content.userId !== userId || content.until < clock.now()) return { kind: 'ended' }
  const step = stepOfCode(content.secret, code.replace(/\s/g, ''), clock.now())
  if (step === null) return { kind: 'wrong-code' }
  return db.transaction(async (tx) => {
    const { rowCount } = await tx.query(
      sql`
        INSERT INTO login_methods (id, user_id, kind, secret, encrypted, details)
        VALUES ($1, $2, 'totp', '', $3, jsonb_build_object('step', $4::bigint))
        ON CONFLICT DO NOTHING
      `,
      [newId(), userId, encryption.encrypt('totp-secret', content.secret), step],
    )
    if (rowCount !== 1) return { kind: 'exists' }
    await noteSessionFactor(tx, { userId, sessionId }, 'totp')
    return { kind: 'added', recoveryCodes: await renewRecoveryCodes(tx, userId) }
  })
}

/** The session has proven the new factor, and the others of the user end. */
export async function noteSessionFactor(
  tx: Queryable,
  { userId, sessionId }: Pick<SignedInUser, 'userId' | 'sessionId'>,
  kind: LoginMethodKind,
): Promise<void> {
  await tx.query('UPDATE user_sessions SET methods = methods || $2::text WHERE id = $1 AND NOT $2 = ANY (methods)', [
    sessionId,
    kind,
  ])
  await endSessions(tx, userId, sessionId)
}

function readEnrolment({ encryption }: Pick<SecondFactorContext, 'encryption'>, text: string): Enrolment | null {
  try {
    return JSON.parse(encryption.decrypt('totp-secret', Buffer.from(text, 'base64url')).toString()) as Enrolment
  } catch {
    return null // changed, or of another master key
  }
}

/** For somebody who has lost all of them: removes every second factor and passkey, and ends all sessions. */
export function resetSecondFactors(db: Db, userId: string): Promise<number> {
  return db.transaction(async (tx) => {
    const { rowCount } = await tx.query(
      `DELETE FROM login_methods WHERE user_id = $1 AND kind IN ('totp', 'recovery_codes', 'passkey')`,
      [userId],
    )
    await endSessions(tx, userId)
    return rowCount ?? 0
  })
}
