/**
 * What a user signs in with. A method is added and removed by its user in a session that began a short time ago, so a
 * session that was left open on a machine cannot be turned into lasting access. The last method with which the user can
 * begin a login is not removed. An identity of a provider belongs to one user: of two requests, the first gets it.
 */
import { newId } from '#src/platform/id.ts'
import type { Db, Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import type { Identity } from './identity.ts'
import type { LoginMethodKind, SignedInUser } from './user-sessions.ts'

export interface LoginMethod {
  readonly id: string
  readonly kind: LoginMethodKind
  /** Of a provider: its name; of a passkey: as the user calls it. */
  readonly name: string | null
  /** The address at the provider. */
  readonly email: string | null
  readonly createdAt: Date
  readonly lastUsedAt: Date | null
}

/** How old a login may be that changes login methods. */
export const RECENT_MINUTES = 15

export function isRecentLogin({ signedInAt }: Pick<SignedInUser, 'signedInAt'>, nowMs: number): boolean {
  return nowMs - signedInAt.getTime() < RECENT_MINUTES * 60_000
}

/** The oldest first. */
export async function listLoginMethods(db: Queryable, userId: string): Promise<LoginMethod[]> {
  const { rows } = await db.query<LoginMethod>(
    sql`
      SELECT id, kind, name, details ->> 'email' AS email, created_at AS "createdAt", last_used_at AS "lastUsedAt"
      FROM login_methods
      WHERE user_id = $1
      ORDER BY created_at, id
    `,
    [userId],
  )
  return rows
}

/** The value of `subject` for an identity. An issuer is a URL, which has no space. */
function subjectOf({ issuer, subject }: Identity): string {
  return `${issuer} ${subject}`
}

export interface IdentityOwner {
  readonly userId: string
  readonly isDisabled: boolean
}

export async function findIdentityOwner(db: Queryable, identity: Identity): Promise<IdentityOwner | null> {
  const { rows } = await db.query<IdentityOwner>(
    sql`
      SELECT u.id AS "userId", u.disabled_at IS NOT NULL AS "isDisabled"
      FROM login_methods l
      JOIN users u ON u.id = l.user_id
      WHERE l.kind = 'oidc' AND l.subject = $1
    `,
    [subjectOf(identity)],
  )
  return rows[0] ?? null
}

/** Attaches the identity to the user, or renews it. False if it belongs to somebody else. */
export async function attachIdentity(
  tx: Queryable,
  userId: string,
  provider: string,
  identity: Identity,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    sql`
      INSERT INTO login_methods (id, user_id, kind, subject, name, secret, details)
      VALUES ($1, $2, 'oidc', $3, $4, '', jsonb_build_object('email', $5::text))
      ON CONFLICT (kind, subject)
      DO UPDATE SET name = excluded.name, details = excluded.details
      WHERE login_methods.user_id = excluded.user_id
    `,
    [newId(), userId, subjectOf(identity), provider, identity.email],
  )
  return rowCount === 1
}

export type MethodRemoval = 'removed' | 'not-found' | 'last'

/** Kinds that begin a login; the others are second factors. */
const FIRST_FACTORS = `('password', 'oidc', 'passkey')`

/** Without an authenticator app, its recovery codes go too. Sessions stay. */
export function removeLoginMethod(db: Db, userId: string, id: string): Promise<MethodRemoval> {
  return db.transaction(async (tx) => {
    await tx.query('SELECT FROM users WHERE id = $1 FOR UPDATE', [userId])
    const { rows } = await tx.query<{ kind: LoginMethodKind }>(
      `SELECT kind FROM login_methods WHERE id = $1 AND user_id = $2 AND kind <> 'recovery_codes'`,
      [id, userId],
    )
    const kind = rows[0]?.kind
    if (kind === undefined) return 'not-found'
    const { rows: others } = await tx.query(
      `SELECT FROM login_methods WHERE user_id = $1 AND id <> $2 AND kind IN ${FIRST_FACTORS}`,
      [userId, id],
    )
    if (others.length === 0) return 'last'
    await tx.query('DELETE FROM login_methods WHERE id = $1', [id])
    await tx.query(
      sql`
        DELETE FROM login_methods
        WHERE user_id = $1
          AND kind = 'recovery_codes'
          AND NOT EXISTS (SELECT FROM login_methods WHERE user_id = $1 AND kind = 'totp')
      `,
      [userId],
    )
    return 'removed'
  })
}
