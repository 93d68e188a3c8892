/**
 * Accepting an invitation: as a person who is signed in, or with a new account. An address that has an account is only
 * accepted for the person who signed in to it: a link proves an invitation, not an identity. The account, the role and
 * the use of the link are one transaction.
 */
import { newId } from '#src/platform/id.ts'
import type { Db } from '#src/stores/db.ts'
import { consumeInvitation, findInvitation, type Invitation } from './invitations.ts'
import { hashPassword } from './passwords.ts'
import type { SignedInUser } from './user-sessions.ts'
import { createUser, findUser, storePassword } from './users.ts'

export type JoinResult =
  | { readonly kind: 'joined'; readonly userId: string; readonly invitation: Invitation }
  /** Unknown, used, revoked or too old. */
  | { readonly kind: 'invalid' }
  /** The address has an account: sign in to it first. */
  | { readonly kind: 'has-account'; readonly email: string }
  /** Somebody else is signed in. */
  | { readonly kind: 'other-person'; readonly email: string }
  | { readonly kind: 'overloaded' }

export interface AccountDetails {
  /** Validated; null: that of the invitation. */
  readonly email: string | null
  readonly name: string
  /** Validated. */
  readonly password: string
}

/** `attribute` names the user as the actor of the audit log. */
export type AttributeTo = (userId: string) => Db

export async function joinWithAccount(
  db: Db,
  token: string,
  account: AccountDetails,
  attribute: AttributeTo,
): Promise<JoinResult> {
  const invitation = await findInvitation(db, token)
  const email = invitation === null ? null : (invitation.email ?? account.email)
  if (invitation === null || email === null) return { kind: 'invalid' }
  if ((await findUser(db, { email })) !== null) return { kind: 'has-account', email }
  const passwordHash = await hashPassword(account.password)
  if (passwordHash === null) return { kind: 'overloaded' }
  const userId = newId()
  return undoIfUsed(
    attribute(userId).transaction(async (tx): Promise<JoinResult> => {
      const isNew = await createUser(tx, { id: userId, email, name: account.name, isOperator: false })
      if (!isNew) return { kind: 'has-account', email }
      await storePassword(tx, userId, passwordHash)
      const used = await consumeInvitation(tx, token, userId)
      if (used === null) throw new UsedMeanwhile()
      return { kind: 'joined', userId, invitation: used }
    }),
  )
}

export async function joinSignedIn(
  db: Db,
  token: string,
  person: SignedInUser,
  attribute: AttributeTo,
): Promise<JoinResult> {
  const invitation = await findInvitation(db, token)
  if (invitation === null) return { kind: 'invalid' }
  if (invitation.email !== null && invitation.email !== person.email)
    return { kind: 'other-person', email: invitation.email }
  const { userId } = person
  const used = await attribute(userId).transaction((tx) => consumeInvitation(tx, token, userId))
  return used === null ? { kind: 'invalid' } : { kind: 'joined', userId, invitation: used }
}

/** Rolls the new account back. */
class UsedMeanwhile extends Error {}

async function undoIfUsed(joining: Promise<JoinResult>): Promise<JoinResult> {
  try {
    return await joining
  } catch (error) {
    if (error instanceof UsedMeanwhile) return { kind: 'invalid' }
    throw error
  }
}
