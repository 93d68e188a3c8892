/**
 * The users of the service and their passwords. A user belongs to no workspace: `members.ts` has their roles. An email
 * address is stored in lower case and names one user. Two requests that create the same user at once: one is created.
 */
import { newId } from '#src/platform/id.ts'
import type { Db, Queryable } from '#src/stores/db.ts'
import { newestFirst, readPage, type Page, type PageRequest } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'
import { isDuplicate } from '#src/stores/store-errors.ts'
import { revokeInvitationsOf, revokeOperatorInvitationsOf } from './revoked-invitations.ts'
import { endSessions, type LoginMethodKind } from './user-sessions.ts'

export interface User {
  readonly id: string
  readonly email: string
  readonly name: string
  /** May use the endpoints of the operator. */
  readonly isOperator: boolean
  readonly disabledAt: Date | null
  readonly createdAt: Date
  /** What they sign in with. */
  readonly methods: readonly LoginMethodKind[]
  readonly lastUsedAt: Date | null
}

const COLUMNS = sql`
  u.id, u.email, u.name, u.is_operator AS "isOperator", u.disabled_at AS "disabledAt", u.created_at AS "createdAt",
  ARRAY(SELECT DISTINCT l.kind FROM login_methods l WHERE l.user_id = u.id ORDER BY l.kind) AS methods,
  (SELECT max(s.last_used_at) FROM user_sessions s WHERE s.user_id = u.id) AS "lastUsedAt"
`

/** The newest first. */
export function listUsers(db: Queryable, request: PageRequest): Promise<Page<User>> {
  return readPage<User>(
    db,
    { columns: COLUMNS, from: 'users u', joins: '', where: 'true', order: newestFirst('u.id'), values: [] },
    request,
  )
}

/** By id or, if the text is no uuid, by email address. */
export async function findUser(db: Queryable, { id, email }: { id?: string; email?: string }): Promise<User | null> {
  const { rows } = await db.query<User>(
    `SELECT ${COLUMNS} FROM users u WHERE u.id = $1::uuid OR u.email = lower($2::text)`,
    [id ?? null, email ?? null],
  )
  return rows[0] ?? null
}

export interface NewUser {
  readonly id: string
  /** Validated. */
  readonly email: string
  readonly name: string
  readonly isOperator: boolean
}

/** False if a user has this email address. */
export async function createUser(tx: Queryable, { id, email, name, isOperator }: NewUser): Promise<boolean> {
  const { rowCount } = await tx.query(
    sql`
      INSERT INTO users (id, email, name, is_operator)
      VALUES ($1, lower($2), $3, $4)
      ON CONFLICT (email) DO NOTHING
    `,
    [id, email, name, isOperator],
  )
  return rowCount === 1
}

/** Stores the hash of a new password, in the place of the present one. */
export async function storePassword(tx: Queryable, userId: string, passwordHash: string): Promise<void> {
  await tx.query(
    sql`
      INSERT INTO login_methods (id, user_id, kind, secret)
      VALUES ($1, $2, 'password', $3)
      ON CONFLICT (user_id, kind) WHERE kind IN ('password', 'totp', 'recovery_codes')
      DO UPDATE SET secret = excluded.secret
    `,
    [newId(), userId, passwordHash],
  )
}

/** Null if the user has none. */
export async function readPasswordHash(db: Queryable, userId: string): Promise<string | null> {
  const { rows } = await db.query<{ secret: string }>(
    `SELECT secret FROM login_methods WHERE user_id = $1 AND kind = 'password'`,
    [userId],
  )
  return rows[0]?.secret ?? null
}

export async function renameUser(db: Queryable, userId: string, name: string): Promise<void> {
  await db.query('UPDATE users SET name = $2 WHERE id = $1', [userId, name])
}

export type UserChange = 'changed' | 'not-found' | 'last-operator'

// Serialises what could remove the last operator. "OPER" in ASCII.
const OPERATOR_LOCK = 0x4f504552

/** Whether somebody else than the user is an operator who can sign in. The caller holds the lock. */
async function hasOtherOperator(tx: Queryable, userId: string): Promise<boolean> {
  const { rows } = await tx.query<{ has: boolean }>(
    'SELECT EXISTS (SELECT FROM users WHERE is_operator AND disabled_at IS NULL AND id <> $1) AS has',
    [userId],
  )
  return rows[0]?.has === true
}

async function removesLastOperator(tx: Queryable, userId: string): Promise<boolean> {
  await tx.query('SELECT pg_advisory_xact_lock($1)', [OPERATOR_LOCK])
  const { rows } = await tx.query('SELECT FROM users WHERE id = $1 AND is_operator AND disabled_at IS NULL', [userId])
  return rows.length > 0 && !(await hasOtherOperator(tx, userId))
}

/** Nobody stores an invitation of the user meanwhile. */
const LOCK_USER = 'SELECT FROM users WHERE id = $1 FOR UPDATE'

/**
 * A disabled user cannot sign in; their sessions and the invitations that they made end now. The API keys of their
 * workspaces stay. Idempotent.
 */
export function disableUser(db: Db, userId: string): Promise<UserChange> {
  return db.transaction(async (tx) => {
    if (await removesLastOperator(tx, userId)) return 'last-operator'
    await tx.query(LOCK_USER, [userId])
    const { rowCount } = await tx.query('UPDATE users SET disabled_at = coalesce(disabled_at, now()) WHERE id = $1', [
      userId,
    ])
    await revokeInvitationsOf(tx, userId, null)
    await endSessions(tx, userId)
    return rowCount === 1 ? 'changed' : 'not-found'
  })
}

/** False if there is no such user. */
export async function enableUser(db: Queryable, userId: string): Promise<boolean> {
  const { rowCount } = await db.query('UPDATE users SET disabled_at = NULL WHERE id = $1', [userId])
  return rowCount === 1
}

export type UserDeletion = UserChange | 'last-owner'

const OWNED_ALONE = sql`
  SELECT FROM workspace_members m
  WHERE m.user_id = $1 AND m.role = 'owner'
    AND NOT EXISTS (
      SELECT FROM workspace_members o
      WHERE o.workspace_id = m.workspace_id AND o.role = 'owner' AND o.user_id <> m.user_id
    )
`
const LOCK_WORKSPACES = sql`
  SELECT w.id
  FROM workspaces w
  JOIN workspace_members m ON m.workspace_id = w.id
  WHERE m.user_id = $1
  ORDER BY w.id
  FOR NO KEY UPDATE OF w
`

/** Deletes a user with sessions, login methods and roles; their open invitations end. The audit log keeps the id. */
export function deleteUser(db: Db, userId: string): Promise<UserDeletion> {
  return db.transaction(async (tx) => {
    if (await removesLastOperator(tx, userId)) return 'last-operator'
    await tx.query(LOCK_WORKSPACES, [userId])
    const { rows } = await tx.query(OWNED_ALONE, [userId])
    if (rows.length > 0) return 'last-owner'
    await tx.query(LOCK_USER, [userId])
    await revokeInvitationsOf(tx, userId, null)
    const { rowCount } = await tx.query('DELETE FROM users WHERE id = $1', [userId])
    return rowCount === 1 ? 'changed' : 'not-found'
  })
}

/** Null leaves a field as it is. */
export interface ChangedUser {
  readonly name: string | null
  /** Validated. */
  readonly email: string | null
  readonly isOperator: boolean | null
}

/** `taken`: another user has the email address. Sessions with rights that the user no longer has end. */
export async function changeUser(
  db: Db,
  userId: string,
  { name, email, isOperator }: ChangedUser,
): Promise<UserChange | 'taken'> {
  try {
    return await db.transaction(async (tx) => {
      if (isOperator === false && (await removesLastOperator(tx, userId))) return 'last-operator'
      const { rows } = await tx.query<{ wasOperator: boolean }>(
        'SELECT is_operator AS "wasOperator" FROM users WHERE id = $1 FOR UPDATE',
        [userId],
      )
      const [user] = rows
      if (user === undefined) return 'not-found'
      await tx.query(
        'UPDATE users SET name = coalesce($2, name), is_operator = coalesce($3, is_operator) WHERE id = $1',
        [userId, name, isOperator],
      )
      if (email !== null) await replaceEmail(tx, userId, email)
      if (isOperator !== null && isOperator !== user.wasOperator) await endSessions(tx, userId)
      if (isOperator === false && user.wasOperator) await revokeOperatorInvitationsOf(tx, userId)
      return 'changed'
    })
  } catch (error) {
    if (isDuplicate(error, 'users_email')) return 'taken'
    throw error
  }
}

/** Returns the address before; links that were mailed to it end. @throws `isDuplicate` if another user has it. */
export async function replaceEmail(tx: Queryable, userId: string, email: string): Promise<string> {
  const { rows } = await tx.query<{ email: string }>('SELECT email FROM users WHERE id = $1 FOR UPDATE', [userId])
  await tx.query('UPDATE users SET email = lower($2) WHERE id = $1', [userId, email])
  await tx.query('DELETE FROM password_resets WHERE user_id = $1', [userId])
  await tx.query('DELETE FROM email_changes WHERE user_id = $1', [userId])
  return rows[0]?.email ?? ''
}
