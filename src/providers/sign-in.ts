/**
 * Connects a mailbox by OAuth: a person signs in at a provider and allows a workspace to send. Four steps, each of
 * which proves that it follows the one before in the same browser (RFC 9700 4.7, decision 042):
 *
 * 1. `beginSignIn`: the workspace gets a URL of this server with a state, valid for ten minutes (sign-in-state.ts).
 * 2. `bindBrowser`: its page names the workspace; the button binds the state to a cookie and leads to the provider.
 * 3. `receiveCode`: the provider sends the browser back. Without the cookie the state is void and the code is never
 *    used. The code is exchanged once, outside of any transaction; no account is stored, and the page holds the grant,
 *    encrypted.
 * 4. `storeGrant`: the person has seen workspace, address and permissions, and agrees; only now the account is stored.
 *
 * A grant that is not confirmed is revoked at the provider (unconfirmed-grants.ts). A crash before the last step stores
 * no account: the person signs in again.
 */
import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { OAuthProvider, OAuthProviders } from '#config/oauth-providers.ts'
import type { Context } from '#src/context.ts'
import type { HttpClient } from '#src/net/http-client.ts'
import { createAccount, findAccount, MAX_ACCOUNTS, replaceCredentials, type Account } from './accounts.ts'
import { authorizeUrlOf, exchangeCode, type GrantedToken } from './oauth.ts'
import {
  bindState,
  consumeState,
  createState,
  deleteState,
  LIFETIME_MS,
  markExchanged,
  type PendingSignIn,
  type SignInRequest,
} from './sign-in-state.ts'
import { forgetGrant, holdGrant, revokeSoon } from './unconfirmed-grants.ts'

/** Pages of this server; the state follows the first. */
export const CONNECT_PATH = '/oauth/connect'
export const CALLBACK_PATH = '/oauth/callback'

export async function beginSignIn(ctx: Context, request: SignInRequest): Promise<{ url: string; expiresAt: Date }> {
  const { state, expiresAt } = await createState(ctx, request)
  return { url: new URL(`${CONNECT_PATH}/${state}`, ctx.config.publicUrl).href, expiresAt }
}

/** A new value of the cookie that binds a browser. */
export function newBrowserSecret(): string {
  return randomBytes(32).toString('base64url')
}

export type BindResult =
  | { readonly kind: 'bound'; readonly authorizeUrl: string; readonly pending: PendingSignIn }
  | { readonly kind: 'bad-state' }

/** Binds a state to a browser and returns where it signs in. The first browser wins. */
export async function bindBrowser(
  ctx: Context,
  providers: OAuthProviders,
  { state, browser }: { readonly state: string; readonly browser: string },
): Promise<BindResult> {
  const pending = await bindState(ctx, state, browser)
  const provider = pending === null ? undefined : providers.get(pending.provider)
  if (pending === null || provider === undefined) return { kind: 'bad-state' }
  const authorizeUrl = authorizeUrlOf(provider, {
    redirectUri: redirectUriOf(ctx),
    state,
    verifier: ctx.encryption.decrypt('oauth-verifier', pending.verifier).toString('utf8'),
    email: pending.email,
  })
  return { kind: 'bound', authorizeUrl, pending }
}

function redirectUriOf({ config }: Pick<Context, 'config'>): string {
  return new URL(CALLBACK_PATH, config.publicUrl).href
}

export type CodeResult =
  | {
      readonly kind: 'granted'
      readonly pending: PendingSignIn
      readonly email: string
      readonly scopes: readonly string[]
      /** For `confirmSignIn`, encrypted. */
      readonly grant: string
    }
  | { readonly kind: 'bad-state' }
  | { readonly kind: 'failed'; readonly reason: string }

interface CallbackParameters {
  readonly state: string
  /** Null: the person or the provider denied access. */
  readonly code: string | null
  readonly error: string | null
  /** The cookie; null without one. */
  readonly browser: string | null
}

export interface SignInDeps {
  readonly providers: OAuthProviders
  readonly http: HttpClient
}

export async function receiveCode(
  ctx: Context,
  { providers, http }: SignInDeps,
  { state, code, error, browser }: CallbackParameters,
): Promise<CodeResult> {
  const pending = await markExchanged(ctx, state, browser)
  if (pending === null) return { kind: 'bad-state' }
  const failed = async (reason: string): Promise<CodeResult> => {
    await deleteState(ctx, state)
    return { kind: 'failed', reason }
  }
  if (code === null) return failed(`${pending.provider} returned an error: ${error ?? 'no details'}`)
  const provider = providers.get(pending.provider)
  if (provider === undefined) return failed(`The provider ${pending.provider} is no longer configured.`)
  const verifier = ctx.encryption.decrypt('oauth-verifier', pending.verifier).toString('utf8')
  const response = await exchangeCode(http, provider, { code, verifier, redirectUri: redirectUriOf(ctx) })
  if (response.kind !== 'granted') return failed(response.reason)
  const granted = checkGrant(provider, pending, response)
  const now = ctx.clock.now()
  await holdGrant(ctx, provider, {
    id: pending.id,
    workspaceId: pending.workspaceId,
    username: response.email ?? pending.email,
    token: response.refreshToken ?? response.accessToken,
    revokeAt: new Date(granted.kind === 'refused' ? now : now + LIFETIME_MS + STORING_MS),
  })
  if (granted.kind === 'refused') return failed(granted.reason)
  const { email, refreshToken } = granted
  const grant = encryptGrant(ctx, [state, email, refreshToken])
  return { kind: 'granted', pending, email, scopes: provider.scopes, grant }
}

/** A grant is not revoked while its confirmation, which began in time, is being stored. */
const STORING_MS = 60_000

type CheckedGrant =
  | { readonly kind: 'usable'; readonly email: string; readonly refreshToken: string }
  | { readonly kind: 'refused'; readonly reason: string }

function checkGrant(
  { name }: OAuthProvider,
  { email: expected }: PendingSignIn,
  { refreshToken, email: signedIn }: Pick<GrantedToken, 'refreshToken' | 'email'>,
): CheckedGrant {
  const refused = (reason: string): CheckedGrant => ({ kind: 'refused', reason })
  const email = signedIn ?? expected
  if (refreshToken === null)
    return refused(`${name} returned no refresh token. Ask the operator to add the scope or parameter for it.`)
  if (email === null) return refused(`${name} does not return the address: give "email" when you start the sign-in.`)
  if (expected !== null && expected !== email)
    return refused(`${email} signed in, and ${expected} was expected. Start again and sign in as ${expected}.`)
  return { kind: 'usable', email, refreshToken }
}

const GRANT = 'oauth-grant'
/** State, address, refresh token. */
const grantContent = z.tuple([z.string(), z.string(), z.string()])

function encryptGrant({ encryption }: Pick<Context, 'encryption'>, content: z.output<typeof grantContent>): string {
  return encryption.encrypt(GRANT, JSON.stringify(content)).toString('base64url')
}

function decryptGrant({ encryption }: Pick<Context, 'encryption'>, text: string): z.output<typeof grantContent> | null {
  try {
    const content: unknown = JSON.parse(encryption.decrypt(GRANT, Buffer.from(text, 'base64url')).toString('utf8'))
    return grantContent.safeParse(content).data ?? null
  } catch {
    return null // not made by this installation
  }
}

export type SignInResult =
  | { readonly kind: 'connected'; readonly account: Account }
  | { readonly kind: 'failed'; readonly reason: string }

interface Confirmation {
  readonly state: string
  readonly grant: string
  readonly browser: string | null
}

/** What the person agreed to; null if the state, the grant and the browser do not belong together. */
export interface ConfirmedGrant {
  readonly pending: PendingSignIn
  readonly email: string
  readonly refreshToken: string
}

/** Uses up the state. The caller then stores the grant, as the mailbox's owner. */
export async function consumeGrant(
  ctx: Context,
  { state, grant, browser }: Confirmation,
): Promise<ConfirmedGrant | null> {
  const [ofState, email, refreshToken] = decryptGrant(ctx, grant) ?? []
  if (ofState !== state || email === undefined || refreshToken === undefined) return null
  const pending = await consumeState(ctx, state, browser)
  return pending === null ? null : { pending, email, refreshToken }
}

/** The person does not agree: the grant is revoked. Null if there is no such sign-in in this browser. */
export async function declineSignIn(
  ctx: Context,
  { state, browser }: Omit<Confirmation, 'grant'>,
): Promise<PendingSignIn | null> {
  const pending = await consumeState(ctx, state, browser)
  if (pending !== null) await revokeSoon(ctx, pending.id)
  return pending
}

/** Stores a grant: a new account, or new credentials for an existing one. If that fails, the grant is revoked. */
export async function storeGrant(
  ctx: Context,
  providers: OAuthProviders,
  confirmed: ConfirmedGrant,
): Promise<SignInResult> {
  const result = await storeAccount(ctx, providers, confirmed)
  await (result.kind === 'connected' ? forgetGrant : revokeSoon)(ctx, confirmed.pending.id)
  return result
}

async function storeAccount(
  ctx: Context,
  providers: OAuthProviders,
  { pending, email, refreshToken: secret }: ConfirmedGrant,
): Promise<SignInResult> {
  const failed = (reason: string): SignInResult => ({ kind: 'failed', reason })
  const { workspaceId, accountId, name } = pending
  const provider = providers.get(pending.provider)
  if (provider === undefined) return failed(`The provider ${pending.provider} is no longer configured.`)
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
