/**
 * The login at an identity provider, between this service and the browser. An identity is the pair of issuer and
 * subject, never an address: a person gets in only with an identity that is attached to their user. It is attached
 *
 * - by the user, from a session that began a short time ago;
 * - with an invitation, if the provider has verified the address that was invited;
 * - to a new user, where the operator permits it for the domain of the verified address.
 *
 * An address that has a user already never leads to that user (decision 084). The state is bound to the browser by a
 * cookie and used once; without the cookie it is void, and the code is never sent. The requests to the provider are
 * outside of any transaction. A crash before the last one stores nothing.
 */
import type { IdentityProvider } from '#config/identity-providers.ts'
import type { Config } from '#config/load.ts'
import { parseAddress } from '#src/mail/address.ts'
import { newId } from '#src/platform/id.ts'
import type { Db, Queryable } from '#src/stores/db.ts'
import type { Identity } from './identity.ts'
import type { AuthorizeResult, IdentityClient } from './identity-client.ts'
import { consumeInvitation, findInvitation } from './invitations.ts'
import { attachIdentity, findIdentityOwner } from './login-methods.ts'
import { addMember } from './members.ts'
import { consumePendingLogin, createPendingLogin } from './pending-logins.ts'
import type { MemberRole } from './roles.ts'
import { hashSecretToken } from './secret-token.ts'
import { isSessionLive, type SignedInUser } from './user-sessions.ts'
import { createUser, findUser } from './users.ts'

export interface ProviderLoginContext {
  readonly db: Db
  readonly config: Config
  readonly identities: IdentityClient
}

export interface ProviderLoginStart {
  readonly provider: IdentityProvider
  /** The value of the cookie. */
  readonly browser: string
  /** The token of an invitation that the person accepts in this way. */
  readonly invitation: string | null
  /** A path of this service. */
  readonly returnTo: string
  /** Who attaches an identity; null for a login. */
  readonly person: SignedInUser | null
}

/** What is stored while the person is at the provider. */
interface ProviderLoginDetails {
  readonly provider: string
  /** The SHA-256 in hex. */
  readonly invitation: string | null
  readonly returnTo: string
}

/** Where the browser goes. */
export async function beginProviderLogin(
  { db, identities }: Pick<ProviderLoginContext, 'db' | 'identities'>,
  { provider, browser, invitation, returnTo, person }: ProviderLoginStart,
): Promise<AuthorizeResult> {
  const details: ProviderLoginDetails = {
    provider: provider.name,
    invitation: invitation === null ? null : (hashSecretToken(invitation)?.toString('hex') ?? ''),
    returnTo,
  }
  const state = await createPendingLogin(db, {
    kind: 'provider',
    browser,
    userId: person?.userId ?? null,
    sessionId: person?.sessionId ?? null,
    details,
  })
  return identities.authorizeUrl(provider, state)
}

export interface ProviderCallback {
  readonly provider: IdentityProvider
  readonly state: string
  /** The value of the cookie; null without one. */
  readonly browser: string | null
  /** Of the request, for the client. */
  readonly query: string
  /** The provider reports an error instead of a code. */
  readonly isError: boolean
}

export type ProviderLoginResult =
  | { readonly kind: 'right'; readonly userId: string; readonly returnTo: string; readonly isLinked: boolean }
  /** The state is unknown, used, too old, of another provider, or of another browser. */
  | { readonly kind: 'bad-state' }
  /** The person declined, or the provider did. */
  | { readonly kind: 'declined' }
  | { readonly kind: 'provider-failed' }
  | { readonly kind: 'unverified' }
  | { readonly kind: 'other-domain' }
  /** No user has this identity, and none may be created for it. */
  | { readonly kind: 'unknown' }
  /** A user has the address, but not this identity. */
  | { readonly kind: 'has-account'; readonly email: string }
  | { readonly kind: 'invalid-invitation' }
  /** The invitation is for another address. */
  | { readonly kind: 'other-address'; readonly email: string }
  /** The identity belongs to another user. */
  | { readonly kind: 'taken' }
  | { readonly kind: 'disabled' }

/** `attribute` names the user as the actor of the audit log. */
export async function finishProviderLogin(
  { db, config, identities }: ProviderLoginContext,
  { provider, state, browser, query, isError }: ProviderCallback,
  attribute: (userId: string) => Db,
): Promise<ProviderLoginResult> {
  const pending = await consumePendingLogin<ProviderLoginDetails>(db, 'provider', state)
  const browserHash = browser === null ? null : hashSecretToken(browser)
  if (pending === null || browserHash === null || pending.browserHash?.equals(browserHash) !== true)
    return { kind: 'bad-state' }
  if (pending.details.provider !== provider.name) return { kind: 'bad-state' }
  if (isError) return { kind: 'declined' }
  const found = await identities.identify(provider, state, query)
  if (found.kind === 'failed') return { kind: 'provider-failed' }
  const identity = withUsableEmail(found.identity)
  if (provider.domains !== null && !isOfDomain(identity, provider.domains)) return { kind: 'other-domain' }
  const { returnTo, invitation } = pending.details
  if (pending.sessionId !== null && !(await isSessionLive(db, config, pending.sessionId))) return { kind: 'bad-state' }
  const resolved =
    pending.userId === null
      ? await resolveUser({ db, provider, identity, attribute }, invitation)
      : await link({ provider, identity, attribute }, pending.userId)
  return resolved.kind === 'right' ? { ...resolved, returnTo, isLinked: pending.userId !== null } : resolved
}

type Resolved = { readonly kind: 'right'; readonly userId: string } | Exclude<ProviderLoginResult, { kind: 'right' }>

interface Arrival {
  readonly db: Db
  readonly provider: IdentityProvider
  readonly identity: Identity
  readonly attribute: (userId: string) => Db
}

async function link({ provider, identity, attribute }: Omit<Arrival, 'db'>, userId: string): Promise<Resolved> {
  const isAttached = await attachIdentity(attribute(userId), userId, provider.name, identity)
  return isAttached ? { kind: 'right', userId } : { kind: 'taken' }
}

async function resolveUser(arrival: Arrival, invitation: string | null): Promise<Resolved> {
  const { db, provider, identity } = arrival
  const owner = await findIdentityOwner(db, identity)
  if (owner?.isDisabled === true) return { kind: 'disabled' }
  const key = invitation === null ? null : Buffer.from(invitation, 'hex')
  if (owner !== null)
    return key === null ? { kind: 'right', userId: owner.userId } : joinOwn(arrival, owner.userId, key)
  const { email } = identity
  if (email === null) return { kind: 'unverified' }
  if (key !== null) return createInvited(arrival, email, key)
  if ((await findUser(db, { email })) !== null) return { kind: 'has-account', email }
  const creation = provider.createAccounts
  if (creation === null || !isOfDomain(identity, creation.domains)) return { kind: 'unknown' }
  return createUserFor(arrival, email, async (tx, userId) => {
    const { workspace: workspaceId, role } = creation
    if (workspaceId !== null && (await hasWorkspace(tx, workspaceId)))
      await addMember(tx, { workspaceId, userId }, role as MemberRole)
    return true
  })
}

/** An address that mail could not reach is none. */
function withUsableEmail(identity: Identity): Identity {
  const parsed = parseAddress(identity.email ?? '')
  return { ...identity, email: parsed.ok ? parsed.address.address.toLowerCase() : null }
}

/** Who has an account accepts an invitation of that account's address. */
async function joinOwn({ db, attribute }: Arrival, userId: string, key: Buffer): Promise<Resolved> {
  const [found, user] = [await findInvitation(db, key), await findUser(db, { id: userId })]
  if (found === null || user === null) return { kind: 'invalid-invitation' }
  if (found.email !== null && found.email !== user.email) return { kind: 'other-address', email: found.email }
  const used = await attribute(userId).transaction((tx) => consumeInvitation(tx, key, userId))
  return used === null ? { kind: 'invalid-invitation' } : { kind: 'right', userId }
}

/** The first operator has the address that the provider has verified. */
async function createInvited(arrival: Arrival, email: string, key: Buffer): Promise<Resolved> {
  const found = await findInvitation(arrival.db, key)
  if (found === null) return { kind: 'invalid-invitation' }
  if (found.email !== null && found.email !== email) return { kind: 'other-address', email: found.email }
  return createUserFor(arrival, email, async (tx, userId) => (await consumeInvitation(tx, key, userId)) !== null)
}

/** Rolls the new user back. */
class Undone extends Error {
  readonly reason: 'has-account' | 'invalid-invitation' | 'taken'
  constructor(reason: Undone['reason']) {
    super(reason)
    this.reason = reason
  }
}

/** User, identity and role are one transaction. `admit` returns false if its reason for the user is gone. */
async function createUserFor(
  { provider, identity, attribute }: Arrival,
  email: string,
  admit: (tx: Queryable, userId: string) => Promise<boolean>,
): Promise<Resolved> {
  const userId = newId()
  const name = identity.name?.replace(/\p{C}+/gu, ' ').trim() || email
  try {
    await attribute(userId).transaction(async (tx) => {
      if (!(await createUser(tx, { id: userId, email, name, isOperator: false }))) throw new Undone('has-account')
      if (!(await attachIdentity(tx, userId, provider.name, identity))) throw new Undone('taken')
      if (!(await admit(tx, userId))) throw new Undone('invalid-invitation')
    })
    return { kind: 'right', userId }
  } catch (error) {
    if (!(error instanceof Undone)) throw error
    return error.reason === 'has-account' ? { kind: 'has-account', email } : { kind: error.reason }
  }
}

async function hasWorkspace(tx: Queryable, id: string): Promise<boolean> {
  return (await tx.query('SELECT FROM workspaces WHERE id = $1', [id])).rows.length > 0
}

function isOfDomain({ email }: Identity, domains: readonly string[]): boolean {
  return email !== null && domains.includes(email.slice(email.lastIndexOf('@') + 1))
}
