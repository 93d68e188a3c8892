/**
 * Links with which a user chooses a new password, once. An operator makes them, for a day; or the user asks for one,
 * which is mailed to them, for an hour. The second of two requests with one token finds nothing. All sessions of the
 * user and all other links end.
 */
import type { Db, Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { hashSecretToken, newSecretToken } from './secret-token.ts'
import { endSessions } from './user-sessions.ts'
import { storePassword } from './users.ts'

const RESET_MINUTES = 24 * 60
export const RESET_MINUTES_BY_MAIL = 60

export interface CreatedReset {
  /** For the link; it is not stored. */
  readonly token: string
  readonly expiresAt: Date
}

/** For an operator: replaces earlier links of the user. */
export async function createReset(tx: Queryable, userId: string): Promise<CreatedReset> {
  await tx.query('DELETE FROM password_resets WHERE user_id = $1', [userId])
  return addReset(tx, userId, RESET_MINUTES)
}

/** For the user. Earlier links stay, so that a stranger who asks cannot end them. */
export function createMailedReset(tx: Queryable, userId: string): Promise<CreatedReset> {
  return addReset(tx, userId, RESET_MINUTES_BY_MAIL)
}

async function addReset(tx: Queryable, userId: string, minutes: number): Promise<CreatedReset> {
  const token = newSecretToken()
  const { rows } = await tx.query<{ expiresAt: Date }>(
    sql`
      INSERT INTO password_resets (token_hash, user_id, expires_at)
      VALUES ($1, $2, now() + make_interval(mins => $3))
      RETURNING expires_at AS "expiresAt"
    `,
    [hashSecretToken(token), userId, minutes],
  )
  return { token, expiresAt: rows[0]?.expiresAt ?? new Date() }
}

/** Whose password a link resets; null if it is unknown, used or too old. */
export async function findReset(db: Queryable, token: string): Promise<{ userId: string; email: string } | null> {
  const { rows } = await db.query<{ userId: string; email: string }>(
    sql`
      SELECT r.user_id AS "userId", u.email
      FROM password_resets r
      JOIN users u ON u.id = r.user_id
      WHERE r.token_hash = $1 AND r.expires_at > now() AND u.disabled_at IS NULL
    `,
    [hashSecretToken(token)],
  )
  return rows[0] ?? null
}

/** False if the link was used meanwhile. */
export function consumeReset(db: Db, token: string, passwordHash: string): Promise<boolean> {
  return db.transaction(async (tx) => {
    const { rows } = await tx.query<{ userId: string }>(
      'DELETE FROM password_resets WHERE token_hash = $1 AND expires_at > now() RETURNING user_id AS "userId"',
      [hashSecretToken(token)],
    )
    const userId = rows[0]?.userId
    if (userId === undefined) return false
    await tx.query('DELETE FROM password_resets WHERE user_id = $1', [userId])
    await storePassword(tx, userId, passwordHash)
    await endSessions(tx, userId)
    return true
  })
}
