/**
 * Changes of a user's email address. The new one is confirmed first, by a link that is mailed to it and opened by the
 * user who asked; otherwise a user could take the address of somebody who has no account yet. The second of two
 * requests with one token finds nothing. Two users who confirm the same address at once: one gets it.
 */
import type { Db, Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { isDuplicate } from '#src/stores/store-errors.ts'
import { hashSecretToken, newSecretToken } from './secret-token.ts'
import { endSessions } from './user-sessions.ts'
import { replaceEmail } from './users.ts'

const CHANGE_HOURS = 24

/** The token for the link; it is not stored. An earlier link of the user ends. Null if a user has the address. */
export async function startEmailChange(db: Db, userId: string, email: string): Promise<string | null> {
  const { rows } = await db.query('SELECT FROM users WHERE email = lower($1)', [email])
  if (rows.length > 0) return null
  const token = newSecretToken()
  await db.query(
    sql`
      INSERT INTO email_changes (user_id, token_hash, email, expires_at)
      VALUES ($1, $2, lower($3), now() + make_interval(hours => $4))
      ON CONFLICT (user_id)
      DO UPDATE SET token_hash = excluded.token_hash, email = excluded.email, created_at = now(),
        expires_at = excluded.expires_at
    `,
    [userId, hashSecretToken(token), email, CHANGE_HOURS],
  )
  return token
}

/** Null if the link is unknown, used or too old. */
export async function findEmailChange(
  db: Queryable,
  token: string,
): Promise<{ readonly userId: string; readonly email: string } | null> {
  const { rows } = await db.query<{ userId: string; email: string }>(
    'SELECT user_id AS "userId", email FROM email_changes WHERE token_hash = $1 AND expires_at > now()',
    [hashSecretToken(token)],
  )
  return rows[0] ?? null
}

export type EmailChangeResult =
  | { readonly kind: 'changed'; readonly before: string; readonly email: string }
  /** Unknown, used or too old, or of another user. */
  | { readonly kind: 'invalid' }
  | { readonly kind: 'taken' }

/** Changes the address of the user, who is signed in with `sessionId`. Other sessions and links for a password end. */
export async function confirmEmailChange(
  db: Db,
  token: string,
  { userId, sessionId }: { readonly userId: string; readonly sessionId: string },
): Promise<EmailChangeResult> {
  try {
    return await db.transaction(async (tx): Promise<EmailChangeResult> => {
      const {
        rows: [change],
      } = await tx.query<{ email: string }>(
        'DELETE FROM email_changes WHERE token_hash = $1 AND user_id = $2 AND expires_at > now() RETURNING email',
        [hashSecretToken(token), userId],
      )
      if (change === undefined) return { kind: 'invalid' }
      const before = await replaceEmail(tx, userId, change.email)
      await endSessions(tx, userId, sessionId)
      return { kind: 'changed', before, email: change.email }
    })
  } catch (error) {
    if (isDuplicate(error, 'users_email')) return { kind: 'taken' }
    throw error
  }
}
