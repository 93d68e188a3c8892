/**
 * Logins that are not complete. What the browser holds is a random token, of which only the SHA-256 is stored; it works
 * once and for some minutes. Of two requests with one token, the second finds nothing. A process that dies leaves a row
 * that the worker deletes, and the person starts again.
 */
import type { Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { hashSecretToken, newSecretToken } from './secret-token.ts'

const PENDING_MINUTES = 10

/** What the token continues. */
export type PendingLoginKind = 'provider' | 'second-factor' | 'passkey' | 'new-passkey'

export interface NewPendingLogin<D extends object> {
  readonly kind: PendingLoginKind
  /** The value of the cookie that binds the browser; null if the token itself never leaves it. */
  readonly browser: string | null
  readonly userId: string | null
  /** The session that adds a login method. It ends the pending login with it. */
  readonly sessionId: string | null
  readonly details: D
}

export interface PendingLogin<D extends object> {
  readonly userId: string | null
  readonly sessionId: string | null
  readonly browserHash: Buffer | null
  readonly details: D
}

/** Returns the token. */
export async function createPendingLogin<D extends object>(
  db: Queryable,
  pending: NewPendingLogin<D>,
): Promise<string> {
  const token = newSecretToken()
  await db.query(
    sql`
      INSERT INTO pending_logins (token_hash, kind, browser_hash, user_id, session_id, details, expires_at)
      VALUES ($1, $2, $3, $4, $5, $6, now() + make_interval(mins => $7))
    `,
    [
      hashSecretToken(token),
      pending.kind,
      pending.browser === null ? null : hashSecretToken(pending.browser),
      pending.userId,
      pending.sessionId,
      JSON.stringify(pending.details),
      PENDING_MINUTES,
    ],
  )
  return token
}

const COLUMNS = `user_id AS "userId", session_id AS "sessionId", browser_hash AS "browserHash", details`

/** Uses the token up. Null if it is unknown, of another kind, used or too old. */
export async function consumePendingLogin<D extends object>(
  db: Queryable,
  kind: PendingLoginKind,
  token: string,
): Promise<PendingLogin<D> | null> {
  const { rows } = await db.query<PendingLogin<D>>(
    sql`
      DELETE FROM pending_logins
      WHERE token_hash = $1 AND kind = $2 AND expires_at > now()
      RETURNING ${COLUMNS}
    `,
    [hashSecretToken(token), kind],
  )
  return rows[0] ?? null
}

/** The same without using the token up, for a step that may be repeated. */
export async function findPendingLogin<D extends object>(
  db: Queryable,
  kind: PendingLoginKind,
  token: string,
): Promise<PendingLogin<D> | null> {
  const { rows } = await db.query<PendingLogin<D>>(
    `SELECT ${COLUMNS} FROM pending_logins WHERE token_hash = $1 AND kind = $2 AND expires_at > now()`,
    [hashSecretToken(token), kind],
  )
  return rows[0] ?? null
}
