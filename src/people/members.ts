/**
 * The members of a workspace. Every change locks the workspace and reads the role of the member who makes it again, so
 * that two changes at once cannot remove the last owner, and somebody who lost a role meanwhile changes nothing.
 * A member who gets another role, or is removed, is signed out everywhere.
 */
import type { Db, Queryable } from '#src/stores/db.ts'
import { readPage, type Page, type PageRequest } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'
import { createWorkspace } from '#src/workspaces/workspaces.ts'
import { revokeInvitationsOf } from './revoked-invitations.ts'
import { mayManage, type MemberRole } from './roles.ts'
import { endSessions } from './user-sessions.ts'

export interface WorkspaceMember {
  readonly userId: string
  readonly email: string
  readonly name: string
  readonly role: MemberRole
  readonly isDisabled: boolean
  readonly joinedAt: Date
  readonly lastUsedAt: Date | null
}

/** Who changes a workspace, and which. */
export interface MemberActor {
  readonly workspaceId: string
  readonly userId: string
}

export type MemberChange =
  | { readonly kind: 'changed' }
  | { readonly kind: 'not-found' }
  /** The role of the actor does not allow it: `role` is what would be changed or given. */
  | { readonly kind: 'beyond-rights'; readonly role: MemberRole }
  | { readonly kind: 'last-owner' }

const COLUMNS = sql`
  m.user_id AS "userId", u.email, u.name, m.role, u.disabled_at IS NOT NULL AS "isDisabled",
  m.created_at AS "joinedAt",
  (SELECT max(s.last_used_at) FROM user_sessions s WHERE s.user_id = m.user_id) AS "lastUsedAt"
`

/** In the order in which their accounts were created. */
export function listMembers(db: Queryable, workspaceId: string, request: PageRequest): Promise<Page<WorkspaceMember>> {
  return readPage<WorkspaceMember>(
    db,
    {
      columns: COLUMNS,
      from: 'workspace_members m',
      joins: 'JOIN users u ON u.id = m.user_id',
      where: 'm.workspace_id = $1',
      order: { by: [{ sql: 'm.user_id', type: 'uuid' }], direction: 'ASC' },
      values: [workspaceId],
    },
    request,
  )
}

/** Null if the user is no member of the workspace. */
export async function findMember(db: Queryable, workspaceId: string, userId: string): Promise<WorkspaceMember | null> {
  const { rows } = await db.query<WorkspaceMember>(
    sql`
      SELECT ${COLUMNS}
      FROM workspace_members m
      JOIN users u ON u.id = m.user_id
      WHERE m.workspace_id = $1 AND m.user_id = $2
    `,
    [workspaceId, userId],
  )
  return rows[0] ?? null
}

export interface Membership {
  readonly workspaceId: string
  readonly name: string
  readonly plan: string
  readonly role: MemberRole
}

/** The workspaces of a user, by name. */
export async function listMemberships(db: Queryable, userId: string): Promise<Membership[]> {
  const { rows } = await db.query<Membership>(
    sql`
      SELECT w.id AS "workspaceId", w.name, w.plan, m.role
      FROM workspace_members m
      JOIN workspaces w ON w.id = m.workspace_id
      WHERE m.user_id = $1
      ORDER BY w.name, w.id
    `,
    [userId],
  )
  return rows
}

/** Locks the workspace. Null if the user is no member of it. */
export async function lockRole(tx: Queryable, { workspaceId, userId }: MemberActor): Promise<MemberRole | null> {
  await tx.query('SELECT FROM workspaces WHERE id = $1 FOR NO KEY UPDATE', [workspaceId])
  return readRole(tx, workspaceId, userId)
}

async function readRole(tx: Queryable, workspaceId: string, userId: string): Promise<MemberRole | null> {
  const { rows } = await tx.query<{ role: MemberRole }>(
    'SELECT role FROM workspace_members WHERE workspace_id = $1 AND user_id = $2',
    [workspaceId, userId],
  )
  return rows[0]?.role ?? null
}

async function isLastOwner(tx: Queryable, workspaceId: string, userId: string): Promise<boolean> {
  const { rows } = await tx.query<{ others: number }>(
    sql`
      SELECT count(*) AS others
      FROM workspace_members
      WHERE workspace_id = $1 AND role = 'owner' AND user_id <> $2
    `,
    [workspaceId, userId],
  )
  return rows[0]?.others === 0
}

/** Gives a member another role. Nobody gives or takes a role above their own. */
export function changeRole(
  db: Db,
  actor: MemberActor,
  { userId, role }: { readonly userId: string; readonly role: MemberRole },
): Promise<MemberChange> {
  const { workspaceId } = actor
  return db.transaction(async (tx): Promise<MemberChange> => {
    const own = await lockRole(tx, actor)
    const present = await readRole(tx, workspaceId, userId)
    if (own === null || present === null) return { kind: 'not-found' }
    const beyond = [present, role].find((one) => !mayManage(own, one))
    if (beyond !== undefined) return { kind: 'beyond-rights', role: beyond }
    if (present === role) return { kind: 'changed' }
    if (present === 'owner' && (await isLastOwner(tx, workspaceId, userId))) return { kind: 'last-owner' }
    await tx.query('UPDATE workspace_members SET role = $3 WHERE workspace_id = $1 AND user_id = $2', [
      workspaceId,
      userId,
      role,
    ])
    await revokeInvitationsOf(tx, userId, workspaceId)
    await endSessions(tx, userId)
    return { kind: 'changed' }
  })
}

/** Removes a member. Every member may remove themselves. */
export function removeMember(db: Db, actor: MemberActor, userId: string): Promise<MemberChange> {
  const { workspaceId } = actor
  return db.transaction(async (tx): Promise<MemberChange> => {
    const own = await lockRole(tx, actor)
    const present = await readRole(tx, workspaceId, userId)
    if (own === null || present === null) return { kind: 'not-found' }
    const isSelf = userId === actor.userId
    if (!isSelf && !mayManage(own, present)) return { kind: 'beyond-rights', role: present }
    if (present === 'owner' && (await isLastOwner(tx, workspaceId, userId))) return { kind: 'last-owner' }
    await tx.query('DELETE FROM workspace_members WHERE workspace_id = $1 AND user_id = $2', [workspaceId, userId])
    await revokeInvitationsOf(tx, userId, workspaceId)
    if (!isSelf) await endSessions(tx, userId)
    return { kind: 'changed' }
  })
}

/** Makes the user a member. A member keeps the role that they have; false then. */
export async function addMember(
  tx: Queryable,
  { workspaceId, userId }: MemberActor,
  role: MemberRole,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    sql`
      INSERT INTO workspace_members (workspace_id, user_id, role)
      VALUES ($1, $2, $3)
      ON CONFLICT DO NOTHING
    `,
    [workspaceId, userId, role],
  )
  return rowCount === 1
}

/** Creates a workspace whose owner is the user. */
export function createOwnWorkspace(
  db: Db,
  userId: string,
  workspace: { readonly name: string; readonly plan: string },
): Promise<string> {
  return db.transaction(async (tx) => {
    const { id } = await createWorkspace(tx, workspace)
    await addMember(tx, { workspaceId: id, userId }, 'owner')
    return id
  })
}
