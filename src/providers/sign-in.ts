/**
 * Connects a mailbox by OAuth: a person signs in at a provider and allows the server to send. The sign-in starts with a
 * state that is valid for ten minutes and for one use. The state is signed, so a forged one is rejected without a
 * query, and it is deleted when it returns. The result is a new account, or new credentials for an existing one.
 *
 * The code is exchanged outside of any transaction. A crash before the account is stored: the person signs in again.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { OAuthProvider, OAuthProviders } from '#config/oauth-providers.ts'
import type { Context } from '#src/context.ts'
import { hexOf, idOfHex, newId } from '#src/platform/id.ts'
import type { HttpClient } from '#src/net/http-client.ts'
import { sql } from '#src/stores/sql.ts'
import { createAccount, findAccount, MAX_ACCOUNTS, replaceCredentials, type Account } from './accounts.ts'
import { authorizeUrlOf, exchangeCode } from './oauth.ts'

const LIFETIME_MS = 10 * 60 * 1000
const MAC_BYTES = 16

export const CALLBACK_PATH = '/oauth/callback'

export interface SignInRequest {
  readonly workspaceId: string
  readonly provider: OAuthProvider
  /** The expected mailbox; null: any, if the provider returns the address. */
  readonly email: string | null
  readonly name: string | null
  /** The account to connect again. */
  readonly accountId: string | null
}

export async function beginSignIn(ctx: Context, request: SignInRequest): Promise<{ url: string; expiresAt: Date }> {
  const now = ctx.clock.now()
  const id = newId(now)
  const verifier = randomBytes(32).toString('base64url')
  const expiresAt = new Date(now + LIFETIME_MS)
  await ctx.db.query('DELETE FROM oauth_states WHERE expires_at < $1', [new Date(now)])
  await ctx.db.query(
    sql`
      INSERT INTO oauth_states (id, workspace_id, account_id, provider, name, email, verifier, expires_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    `,
    [
      id,
      request.workspaceId,
      request.accountId,
      request.provider.name,
      request.name,
      request.email,
      ctx.encryption.encrypt('oauth-verifier', verifier),
      expiresAt,
    ],
  )
  const url = authorizeUrlOf(request.provider, {
    redirectUri: redirectUriOf(ctx),
    state: stateOf(ctx, id),
    verifier,
    email: request.email,
  })
  return { url, expiresAt }
}

function redirectUriOf({ config }: Pick<Context, 'config'>): string {
  return new URL(CALLBACK_PATH, config.publicUrl).href
}

function stateOf(ctx: Pick<Context, 'encryption'>, id: string): string {
  return `${hexOf(id)}${macOf(ctx, hexOf(id)).toString('hex')}`
}

function macOf({ encryption }: Pick<Context, 'encryption'>, hex: string): Buffer {
  return encryption.mac('oauth-state', hex).subarray(0, MAC_BYTES)
}

/** The id in a valid state; null for any other text. */
function readState(ctx: Pick<Context, 'encryption'>, state: string): string | null {
  const [, hex, mac] = /^([0-9a-f]{32})([0-9a-f]{32})$/.exec(state) ?? []
  if (hex === undefined || mac === undefined) return null
  return timingSafeEqual(Buffer.from(mac, 'hex'), macOf(ctx, hex)) ? idOfHex(hex) : null
}

interface PendingSignIn {
  readonly workspaceId: string
  readonly accountId: string | null
  readonly provider: string
  readonly name: string | null
  readonly email: string | null
  readonly verifier: Buffer
}

export type SignInResult =
  | { readonly kind: 'connected'; readonly account: Account }
  | { readonly kind: 'bad-state' }
  | { readonly kind: 'failed'; readonly reason: string }

interface CallbackParameters {
  readonly state: string
  /** Null: the person or the provider denied access. */
  readonly code: string | null
  readonly error: string | null
}

export interface SignInDeps {
  readonly providers: OAuthProviders
  readonly http: HttpClient
}

export async function finishSignIn(
  ctx: Context,
  deps: SignInDeps,
  { state, code, error }: CallbackParameters,
): Promise<SignInResult> {
  const { providers, http } = deps
  const id = readState(ctx, state)
  const pending = id === null ? null : await consumePending(ctx, id)
  if (pending === null) return { kind: 'bad-state' }
  if (code === null) return failed(`${pending.provider} returned an error: ${error ?? 'no details'}`)
  const provider = providers.get(pending.provider)
  if (provider === undefined) return failed(`The provider ${pending.provider} is no longer configured.`)
  const verifier = ctx.encryption.decrypt('oauth-verifier', pending.verifier).toString('utf8')
  const response = await exchangeCode(http, provider, { code, verifier, redirectUri: redirectUriOf(ctx) })
  if (response.kind !== 'granted') return failed(response.reason)
  if (response.refreshToken === null) return failed(`${provider.name} returned no refresh token.`)
  const email = response.email ?? pending.email
  if (email === null) return failed(`${provider.name} does not return the address: give it when you start the sign-in.`)
  if (pending.email !== null && pending.email !== email)
    return failed(`${email} signed in, and ${pending.email} was expected.`)
  return store(ctx, pending, { provider, email, secret: response.refreshToken })
}

function failed(reason: string): SignInResult {
  return { kind: 'failed', reason }
}

/** Deletes and returns the pending sign-in, so a state works once. */
async function consumePending(ctx: Context, id: string): Promise<PendingSignIn | null> {
  const { rows } = await ctx.db.query<PendingSignIn>(
    sql`
      DELETE FROM oauth_states
      WHERE id = $1 AND expires_at > $2
      RETURNING workspace_id AS "workspaceId", account_id AS "accountId", provider, name, email, verifier
    `,
    [id, new Date(ctx.clock.now())],
  )
  return rows[0] ?? null
}

interface Grant {
  readonly provider: OAuthProvider
  readonly email: string
  readonly secret: string
}

async function store(
  ctx: Context,
  { workspaceId, accountId, name }: PendingSignIn,
  { provider, email, secret }: Grant,
): Promise<SignInResult> {
  const { smtpHost: host, smtpPort: port, security } = provider
  const credentials = { host, port, security, username: email, secret }
  if (accountId !== null) {
    const before = await findAccount(ctx.db, workspaceId, accountId)
    // API keys of the account may use its addresses, so another mailbox must not replace it
    if (before !== null && before.username !== email)
      return failed(`${email} signed in, and the account is ${before.username}.`)
    const account = before === null ? null : await replaceCredentials(ctx, before, credentials)
    return account === null ? failed('The account was removed during the sign-in.') : { kind: 'connected', account }
  }
  const { connections, messagesPerConnection, messagesPerMinute } = provider
  const created = await createAccount(ctx, {
    ...credentials,
    workspaceId,
    kind: 'oauth',
    provider: provider.name,
    name: name ?? email,
    addresses: [email],
    limits: { connections, messagesPerConnection, messagesPerMinute },
  })
  if (created.kind === 'too-many') return failed(`A workspace has at most ${MAX_ACCOUNTS} connected accounts.`)
  if (created.kind !== 'created') return failed('The workspace no longer exists.')
  return { kind: 'connected', account: created.account }
}
