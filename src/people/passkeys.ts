/**
 * Passkeys of users: as login without a password, and as second factor after one. A challenge is a row of
 * `pending_logins`: it works once, for ten minutes, and for what it was made for. A passkey whose counter goes
 * backwards was copied and is refused; of two responses with one counter, the first counts.
 */
import { isIP } from 'node:net'
import type { Config } from '#config/load.ts'
import { hexOf, newId } from '#src/platform/id.ts'
import type { Db, Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { consumePendingLogin, createPendingLogin } from './pending-logins.ts'
import { noteSessionFactor, type FactorCheck } from './second-factors.ts'
import type { SignedInUser } from './user-sessions.ts'
import type { RelyingParty, StoredPasskey } from './webauthn.ts'

type PasskeyContext = { readonly db: Db; readonly config: Pick<Config, 'publicUrl'> }

/** Null where browsers have no passkeys: for a PUBLIC_URL with an IP address. */
export function relyingPartyOf({ publicUrl }: Pick<Config, 'publicUrl'>): RelyingParty | null {
  const { hostname, origin } = new URL(publicUrl)
  return isIP(hostname.replace(/^\[|\]$/g, '')) === 0 ? { id: hostname, origin } : null
}

interface ChallengeDetails {
  readonly challenge: string
}

/** What the browser needs, and the token that belongs to its challenge. */
export interface PasskeyRequest {
  readonly token: string
  /** For `navigator.credentials`, as JSON of WebAuthn. */
  readonly options: object
}

export async function startNewPasskey(
  { db }: PasskeyContext,
  party: RelyingParty,
  { userId, sessionId, email, name }: SignedInUser,
): Promise<PasskeyRequest> {
  const { registrationOptions } = await import('./webauthn.ts')
  const user = { id: Buffer.from(hexOf(userId), 'hex'), email, name }
  const { challenge, options } = await registrationOptions(party, user, await listPasskeys(db, userId))
  const details: ChallengeDetails = { challenge }
  const token = await createPendingLogin(db, { kind: 'new-passkey', browser: null, userId, sessionId, details })
  return { token, options }
}

export type AddedPasskey =
  | { readonly kind: 'added'; readonly id: string }
  | { readonly kind: 'ended' | 'invalid' | 'exists' }

/** Adds the passkey. All other sessions of the user end. */
export async function addPasskey(
  { db }: PasskeyContext,
  party: RelyingParty,
  person: Pick<SignedInUser, 'userId' | 'sessionId'>,
  given: { readonly token: string; readonly name: string; readonly response: object },
): Promise<AddedPasskey> {
  const pending = await consumePendingLogin<ChallengeDetails>(db, 'new-passkey', given.token)
  if (pending?.sessionId !== person.sessionId) return { kind: 'ended' }
  const { checkRegistration } = await import('./webauthn.ts')
  const passkey = await checkRegistration(party, pending.details.challenge, given.response)
  if (passkey === null) return { kind: 'invalid' }
  const { credentialId, ...details } = passkey
  const id = newId()
  return db.transaction(async (tx): Promise<AddedPasskey> => {
    const { rowCount } = await tx.query(
      sql`
        INSERT INTO login_methods (id, user_id, kind, subject, name, secret, details)
        VALUES ($1, $2, 'passkey', $3, $4, '', $5)
        ON CONFLICT (kind, subject) DO NOTHING
      `,
      [id, person.userId, credentialId, given.name, JSON.stringify(details)],
    )
    if (rowCount !== 1) return { kind: 'exists' }
    await noteSessionFactor(tx, person, 'passkey')
    return { kind: 'added', id }
  })
}

/** For a login without a name, or as the second factor of a user. */
export async function startPasskeyLogin(
  { db }: PasskeyContext,
  party: RelyingParty,
  userId: string | null,
): Promise<PasskeyRequest> {
  const { authenticationOptions } = await import('./webauthn.ts')
  const allowed = userId === null ? [] : await listPasskeys(db, userId)
  const { challenge, options } = await authenticationOptions(party, allowed)
  const details: ChallengeDetails = { challenge }
  const token = await createPendingLogin(db, { kind: 'passkey', browser: null, userId, sessionId: null, details })
  return { token, options }
}

export interface PasskeyResponse {
  /** Of `startPasskeyLogin`. */
  readonly token: string
  /** JSON of WebAuthn. */
  readonly response: { readonly id?: unknown }
}

/** Who signed in with a passkey; null if the response is wrong. Changes nothing but the counter. */
export async function checkPasskey(
  { db }: PasskeyContext,
  party: RelyingParty,
  { token, response }: PasskeyResponse,
): Promise<string | null> {
  const pending = await consumePendingLogin<ChallengeDetails>(db, 'passkey', token)
  const found = pending === null || typeof response.id !== 'string' ? null : await findPasskey(db, response.id)
  if (pending === null || found === null) return null
  if (pending.userId !== null && pending.userId !== found.userId) return null
  const { checkAuthentication } = await import('./webauthn.ts')
  const counter = await checkAuthentication(party, pending.details.challenge, response, found)
  if (counter === null || !(await storeCounter(db, found.id, counter))) return null
  return found.userId
}

/** As the second factor: the passkey must be the user's. */
export function passkeyCheck(ctx: PasskeyContext, party: RelyingParty, given: PasskeyResponse): FactorCheck {
  return async (userId) => ((await checkPasskey(ctx, party, given)) === userId ? 'passkey' : null)
}

const DETAILS = sql`
  subject AS "credentialId", details ->> 'publicKey' AS "publicKey", (details ->> 'counter')::bigint AS counter,
  details -> 'transports' AS transports
`

async function listPasskeys(db: Queryable, userId: string): Promise<StoredPasskey[]> {
  const { rows } = await db.query<StoredPasskey>(
    `SELECT ${DETAILS} FROM login_methods WHERE user_id = $1 AND kind = 'passkey' ORDER BY id LIMIT 100`,
    [userId],
  )
  return rows
}

type FoundPasskey = StoredPasskey & { readonly id: string; readonly userId: string }

/** Not of a disabled user. */
async function findPasskey(db: Queryable, credentialId: string): Promise<FoundPasskey | null> {
  const { rows } = await db.query<FoundPasskey>(
    sql`
      SELECT l.id, l.user_id AS "userId", ${DETAILS}
      FROM login_methods l
      WHERE l.kind = 'passkey'
        AND l.subject = $1
        AND EXISTS (SELECT FROM users u WHERE u.id = l.user_id AND u.disabled_at IS NULL)
    `,
    [credentialId],
  )
  return rows[0] ?? null
}

/** An authenticator without a counter always sends 0 (WebAuthn §6.1.1). */
async function storeCounter(db: Queryable, id: string, counter: number): Promise<boolean> {
  const { rowCount } = await db.query(
    sql`
      UPDATE login_methods
      SET details = jsonb_set(details, '{counter}', to_jsonb($2::bigint)), last_used_at = now()
      WHERE id = $1 AND ((details ->> 'counter')::bigint < $2 OR $2 = 0)
    `,
    [id, counter],
  )
  return rowCount === 1
}
