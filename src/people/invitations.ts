/**
 * Invitations to a workspace, to the operators, and the link for the first operator. A link works once and for some
 * days; another invitation of the same person replaces it. Two requests with one token: the first gets it, since the
 * row is locked. Nobody invites to a role above their own, and who loses their role, is disabled or deleted loses their
 * open invitations (`revoked-invitations.ts`).
 */
import { newId } from '#src/platform/id.ts'
import type { Db, Queryable } from '#src/stores/db.ts'
import { newestFirst, readPage, type Page, type PageRequest } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'
import { addMember, lockRole, type MemberActor } from './members.ts'
import { mayManage, type MemberRole } from './roles.ts'
import { hashSecretToken, newSecretToken } from './secret-token.ts'

export interface Invitation {
  readonly id: string
  /** Null: the first operator chooses it. */
  readonly email: string | null
  readonly workspaceId: string | null
  readonly workspaceName: string | null
  readonly role: MemberRole | null
  readonly isOperator: boolean
  readonly invitedBy: string | null
  readonly createdAt: Date
  readonly expiresAt: Date
}

const INVITATION_DAYS = 7
const FIRST_LINK_DAYS = 1

const COLUMNS = sql`
  i.id, i.email, i.workspace_id AS "workspaceId", w.name AS "workspaceName", i.role, i.is_operator AS "isOperator",
  u.email AS "invitedBy", i.created_at AS "createdAt", i.expires_at AS "expiresAt"
`
const JOINS = 'LEFT JOIN workspaces w ON w.id = i.workspace_id LEFT JOIN users u ON u.id = i.invited_by'
const OPEN = 'i.accepted_at IS NULL AND i.revoked_at IS NULL AND i.expires_at > now()'

/** The open invitations to a workspace, the newest first. */
export function listInvitations(db: Queryable, workspaceId: string, request: PageRequest): Promise<Page<Invitation>> {
  return readPage<Invitation>(
    db,
    {
      columns: COLUMNS,
      from: 'invitations i',
      joins: JOINS,
      where: `i.workspace_id = $1 AND ${OPEN}`,
      order: newestFirst('i.id'),
      values: [workspaceId],
    },
    request,
  )
}

/** The open invitations that give the rights of an operator, the newest first. */
export function listOperatorInvitations(db: Queryable, request: PageRequest): Promise<Page<Invitation>> {
  return readPage<Invitation>(
    db,
    {
      columns: COLUMNS,
      from: 'invitations i',
      joins: JOINS,
      where: `i.is_operator AND ${OPEN}`,
      order: newestFirst('i.id'),
      values: [],
    },
    request,
  )
}

/** Ends an open invitation that gives the rights of an operator. False if there is none with this id. */
export async function revokeOperatorInvitation(db: Queryable, id: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `UPDATE invitations i SET revoked_at = now() WHERE i.id = $1 AND i.is_operator AND ${OPEN}`,
    [id],
  )
  return rowCount === 1
}

/** The open invitation of a link; null if it is unknown, used, revoked or too old, or its inviter is disabled. */
export async function findInvitation(db: Queryable, token: string | Buffer): Promise<Invitation | null> {
  const tokenHash = hashOf(token)
  if (tokenHash === null) return null
  const { rows } = await db.query<Invitation>(
    `SELECT ${COLUMNS} FROM invitations i ${JOINS} WHERE i.token_hash = $1 AND u.disabled_at IS NULL AND ${OPEN}`,
    [tokenHash],
  )
  return rows[0] ?? null
}

/** A token, or its hash where the token was not stored. */
function hashOf(token: string | Buffer): Buffer | null {
  return typeof token === 'string' ? hashSecretToken(token) : token
}

export interface NewInvitation {
  readonly email: string | null
  readonly workspaceId: string | null
  readonly role: MemberRole | null
  readonly isOperator: boolean
  readonly invitedBy: string | null
}

export interface CreatedInvitation {
  readonly kind: 'created'
  readonly id: string
  /** For the link; it is not stored. */
  readonly token: string
  readonly expiresAt: Date
}

/** Replaces an open invitation of the same person to the same place. For operators and commands: checks no right. */
export async function storeInvitation(
  tx: Queryable,
  { email, workspaceId, role, isOperator, invitedBy }: NewInvitation,
  days = INVITATION_DAYS,
): Promise<CreatedInvitation> {
  await tx.query(
    sql`
      UPDATE invitations
      SET revoked_at = now()
      WHERE email IS NOT DISTINCT FROM lower($1)
        AND workspace_id IS NOT DISTINCT FROM $2::uuid
        AND accepted_at IS NULL
        AND revoked_at IS NULL
    `,
    [email, workspaceId],
  )
  const [id, token] = [newId(), newSecretToken()]
  const { rows } = await tx.query<{ expiresAt: Date }>(
    sql`
      INSERT INTO invitations (id, token_hash, email, workspace_id, role, is_operator, invited_by, expires_at)
      VALUES ($1, $2, lower($3), $4, $5, $6, $7, now() + make_interval(days => $8))
      RETURNING expires_at AS "expiresAt"
    `,
    [id, hashSecretToken(token), email, workspaceId, role, isOperator, invitedBy, days],
  )
  return { kind: 'created', id, token, expiresAt: rows[0]?.expiresAt ?? new Date() }
}

export type InviteResult =
  | CreatedInvitation
  | { readonly kind: 'beyond-rights'; readonly role: MemberRole }
  | { readonly kind: 'is-member' }

/** Invites to the workspace of the actor. */
export function invite(
  db: Db,
  actor: MemberActor,
  { email, role }: { readonly email: string; readonly role: MemberRole },
): Promise<InviteResult> {
  const { workspaceId } = actor
  return db.transaction(async (tx): Promise<InviteResult> => {
    const own = await lockRole(tx, actor)
    if (own === null || !mayManage(own, role)) return { kind: 'beyond-rights', role }
    const { rows } = await tx.query(
      sql`
        SELECT
        FROM workspace_members m
        JOIN users u ON u.id = m.user_id
        WHERE m.workspace_id = $1 AND u.email = lower($2)
      `,
      [workspaceId, email],
    )
    if (rows.length > 0) return { kind: 'is-member' }
    return storeInvitation(tx, { email, workspaceId, role, isOperator: false, invitedBy: actor.userId })
  })
}

/** Ends an open invitation. `not-found` also for one that was accepted. */
export function revokeInvitation(
  db: Db,
  actor: MemberActor,
  id: string,
): Promise<{ readonly kind: 'revoked' | 'not-found' } | { readonly kind: 'beyond-rights'; readonly role: MemberRole }> {
  return db.transaction(async (tx) => {
    const own = await lockRole(tx, actor)
    const { rows } = await tx.query<{ role: MemberRole }>(
      `SELECT i.role FROM invitations i WHERE i.id = $1 AND i.workspace_id = $2 AND ${OPEN} FOR UPDATE`,
      [id, actor.workspaceId],
    )
    const [found] = rows
    if (own === null || found === undefined) return { kind: 'not-found' }
    if (!mayManage(own, found.role)) return { kind: 'beyond-rights', role: found.role }
    await tx.query('UPDATE invitations SET revoked_at = now() WHERE id = $1', [id])
    return { kind: 'revoked' }
  })
}

const HAS_OPERATOR = 'SELECT EXISTS (SELECT FROM users WHERE is_operator AND disabled_at IS NULL) AS has'

async function hasOperator(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ has: boolean }>(HAS_OPERATOR)
  return rows[0]?.has === true
}

/** A new link for the first operator; null if there is an operator. Earlier links end. */
export async function createFirstLink(tx: Queryable, workspaceId: string): Promise<string | null> {
  if (await hasOperator(tx)) return null
  const first = { email: null, workspaceId, role: 'owner', isOperator: true, invitedBy: null } as const
  return (await storeInvitation(tx, first, FIRST_LINK_DAYS)).token
}

/**
 * Uses an invitation up, in the transaction that creates or finds the user: gives the user the role, and the rights of
 * an operator if it has them. Null if the token is not valid any more, or was made for the first operator and there is
 * one meanwhile. It does not check that the invitation is meant for this user.
 */
export async function consumeInvitation(
  tx: Queryable,
  token: string | Buffer,
  userId: string,
): Promise<Invitation | null> {
  const { rows } = await tx.query<{ id: string }>(
    `SELECT i.id FROM invitations i WHERE i.token_hash = $1 AND ${OPEN} FOR UPDATE`,
    [hashOf(token)],
  )
  const [locked] = rows
  const found = locked === undefined ? null : await findInvitation(tx, token)
  if (found === null) return null
  if (found.email === null && (await hasOperator(tx))) return null
  await tx.query('UPDATE invitations SET accepted_at = now() WHERE id = $1', [found.id])
  if (found.workspaceId !== null && found.role !== null)
    await addMember(tx, { workspaceId: found.workspaceId, userId }, found.role)
  if (found.isOperator) await tx.query('UPDATE users SET is_operator = true WHERE id = $1', [userId])
  return found
}
