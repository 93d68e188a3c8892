/**
 * A person signs in at a provider and lets us send from the mailbox. It begins with a state that is good for ten minutes and for one
 * use: signed, so that a made-up one is told without a question to PostgreSQL, and taken out of it when it comes back. What comes of it is
 * a new account, or new credentials for one that is there.
 *
 * The code is exchanged outside of any transaction. Dies in between: nothing was stored, and the person begins again.
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
  /** Whose mailbox; null: whoever signs in, where the provider says who it is. */
  readonly email: string | null
  readonly name: string | null
  /** Connected again. */
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

/** The id in a state of ours; null for any other text. */
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
  /** Null: the person, or the provider, said no. */
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
  if (code === null) return failed(`${pending.provider} says: ${error ?? 'nothing'}`)
  const provider = providers.get(pending.provider)
  if (provider === undefined) return failed(`The provider ${pending.provider} is not configured any more.`)
  const verifier = ctx.encryption.decrypt('oauth-verifier', pending.verifier).toString('utf8')
  const response = await exchangeCode(http, provider, { code, verifier, redirectUri: redirectUriOf(ctx) })
  if (response.kind !== 'granted') return failed(response.reason)
  if (response.refreshToken === null) return failed(`${provider.name} gave no right that lasts (no refresh token).`)
  const email = response.email ?? pending.email
  if (email === null) return failed(`${provider.name} does not say who signed in: name the address at the start.`)
  if (pending.email !== null && pending.email !== email)
    return failed(`${email} signed in, and ${pending.email} was expected.`)
  return store(ctx, pending, { provider, email, secret: response.refreshToken })
}

function failed(reason: string): SignInResult {
  return { kind: 'failed', reason }
}

/** Once. */
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
    // the keys of the account speak for its addresses
    if (before !== null && before.username !== email)
      return failed(`${email} signed in, and the account is ${before.username}.`)
    const account = before === null ? null : await replaceCredentials(ctx, before, credentials)
    return account === null ? failed('The account was removed meanwhile.') : { kind: 'connected', account }
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
  return created.kind === 'created' ? { kind: 'connected', account: created.account } : failed('The workspace is gone.')
}
