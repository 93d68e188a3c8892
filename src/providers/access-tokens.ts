/**
 * OAuth access tokens: from memory, otherwise from PostgreSQL, where they are encrypted, otherwise from the provider.
 * If several processes need a token, one of them requests it: it claims the account for half a minute, in a row instead
 * of a transaction, and the others wait for its result.
 *
 * A crash during the request: the claim expires, and another process requests the token. A crash after the provider
 * changed the refresh token, before it is stored: it is lost, and if the provider accepts each refresh token only once,
 * the account pauses and must be connected again. The grant is revoked: the account is paused. The provider does not
 * respond: the mail waits, and the request is repeated after some seconds.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { OAuthProviders } from '#config/oauth-providers.ts'
import type { Context } from '#src/context.ts'
import { newId } from '#src/platform/id.ts'
import type { HttpClient } from '#src/net/http-client.ts'
import { sql } from '#src/stores/sql.ts'
import { decryptSecret, encryptSecret, type Account } from './accounts.ts'
import { refreshToken, type TokenResponse } from './oauth.ts'
import { pauseAccount } from './pause-account.ts'

export type AccessTokenResult =
  | { readonly kind: 'token'; readonly token: string }
  /** The account is paused now. */
  | { readonly kind: 'revoked'; readonly reason: string }
  | { readonly kind: 'later'; readonly reason: string }

export interface AccessTokens {
  /** `refused`: a token that the SMTP server rejected although it has not expired; `aheadMs`: minimum validity. */
  find(
    account: OAuthAccount,
    required?: { readonly refused?: string | null; readonly aheadMs?: number },
  ): Promise<AccessTokenResult>
}

export type OAuthAccount = Pick<Account, 'id' | 'generation' | 'provider'>

export interface AccessTokenDeps {
  readonly providers: OAuthProviders
  readonly http: HttpClient
}

/** An SMTP session has this time to sign in with the token. */
const AHEAD_MS = 60_000
const CLAIM_SECONDS = 30
/** The delay after a provider did not respond, before RETRY_SCALE. */
const RETRY_AFTER_SECONDS = 5
const WAIT_MS = 20_000
const POLL_MS = 100

interface CachedToken {
  readonly generation: number
  readonly token: string
  readonly expiresMs: number
}

interface Row {
  readonly secret: Buffer
  readonly token: Buffer | null
  readonly expiresAt: Date | null
  readonly refreshUntil: Date | null
  readonly generation: number
}

const MAX_CACHED = 10_000

export function createAccessTokens(ctx: Context, deps: AccessTokenDeps): AccessTokens {
  const cache = new Map<string, CachedToken>()
  const inProgress = new Map<string, Promise<AccessTokenResult>>()
  const isGood = (one: CachedToken, required: TokenRequirements): boolean =>
    one.generation === required.account.generation &&
    one.token !== required.refused &&
    one.expiresMs - ctx.clock.now() > required.aheadMs
  return {
    find: async (account, { refused = null, aheadMs = AHEAD_MS } = {}) => {
      const required = { account, refused, aheadMs }
      const known = cache.get(account.id)
      if (known !== undefined && isGood(known, required)) return { kind: 'token', token: known.token }
      const name = `${account.id} ${account.generation} ${refused ?? ''}`
      const loading =
        inProgress.get(name) ??
        obtainToken(ctx, deps, required, (one) => {
          if (cache.size >= MAX_CACHED) cache.clear()
          cache.set(account.id, one)
        }).finally(() => inProgress.delete(name))
      inProgress.set(name, loading)
      return loading
    },
  }
}

interface TokenRequirements {
  readonly account: OAuthAccount
  readonly refused: string | null
  readonly aheadMs: number
}

/** Reads the stored token, or claims the account and requests a new one, or waits for the process that does. */
async function obtainToken(
  ctx: Context,
  deps: AccessTokenDeps,
  required: TokenRequirements,
  cacheToken: (one: CachedToken) => void,
): Promise<AccessTokenResult> {
  const { account } = required
  for (const end = performance.now() + WAIT_MS; performance.now() < end; await sleep(POLL_MS)) {
    const row = await readRow(ctx, account)
    if (row === null) return { kind: 'later', reason: 'the account was changed or removed' }
    const stored = readStored(ctx, row)
    if (stored !== null && stored.token !== required.refused && stored.expiresMs - ctx.clock.now() > required.aheadMs) {
      cacheToken(stored)
      return { kind: 'token', token: stored.token }
    }
    const claim = await claimRefresh(ctx, account, row)
    if (claim !== null) return await refresh(ctx, deps, { account, claim, secret: decryptSecret(ctx, row.secret) })
  }
  return { kind: 'later', reason: 'no new access token was available in time' }
}

async function readRow(ctx: Context, { id, generation }: OAuthAccount): Promise<Row | null> {
  const { rows } = await ctx.db.query<Row>(
    sql`
      SELECT secret, access_token AS token, access_expires_at AS "expiresAt", refresh_until AS "refreshUntil",
        generation
      FROM connected_accounts
      WHERE id = $1 AND generation = $2
    `,
    [id, generation],
  )
  return rows[0] ?? null
}

function readStored(ctx: Context, { token, expiresAt, generation }: Row): CachedToken | null {
  if (token === null || expiresAt === null) return null
  return { generation, token: decryptSecret(ctx, token), expiresMs: expiresAt.getTime() }
}

/** Null while another process has the claim, or when the row has changed. */
async function claimRefresh(ctx: Context, { id, generation }: OAuthAccount, row: Row): Promise<string | null> {
  const now = ctx.clock.now()
  if (row.refreshUntil !== null && row.refreshUntil.getTime() > now) return null
  const claim = newId(now)
  const { rowCount } = await ctx.db.query(
    sql`
      UPDATE connected_accounts
      SET refresh_claim = $3, refresh_until = $4
      WHERE id = $1
        AND generation = $2
        AND (refresh_until IS NULL OR refresh_until <= $5)
        AND access_token IS NOT DISTINCT FROM $6
    `,
    [id, generation, claim, new Date(now + CLAIM_SECONDS * 1000), new Date(now), row.token],
  )
  return rowCount === 1 ? claim : null
}

interface RefreshClaim {
  readonly account: OAuthAccount
  readonly claim: string
}

interface ClaimedRefresh extends RefreshClaim {
  readonly secret: string
}

async function refresh(
  ctx: Context,
  { providers, http }: AccessTokenDeps,
  { account, claim, secret }: ClaimedRefresh,
): Promise<AccessTokenResult> {
  const provider = providers.get(account.provider ?? '')
  const response: TokenResponse =
    provider === undefined
      ? { kind: 'failed', reason: `the provider ${account.provider ?? ''} is no longer configured` }
      : await refreshToken(http, provider, secret)
  if (response.kind === 'granted') {
    await storeGrant(ctx, { account, claim }, response)
    return { kind: 'token', token: response.accessToken }
  }
  if (response.kind === 'revoked') {
    await releaseClaim(ctx, { account, claim }, 0)
    await pauseAccount(ctx, account, response.reason)
    return { kind: 'revoked', reason: response.reason }
  }
  await releaseClaim(ctx, { account, claim }, RETRY_AFTER_SECONDS * ctx.config.retryScale)
  return { kind: 'later', reason: response.reason }
}

/** Stores the tokens only while this process has the claim: not after it expired or the account was connected again. */
async function storeGrant(
  ctx: Context,
  { account, claim }: RefreshClaim,
  grant: Extract<TokenResponse, { kind: 'granted' }>,
): Promise<void> {
  const now = ctx.clock.now()
  await ctx.db.query(
    sql`
      UPDATE connected_accounts
      SET access_token = $2,
        access_expires_at = $3,
        secret = coalesce($4, secret),
        refresh_claim = NULL,
        refresh_until = NULL
      WHERE id = $5 AND refresh_claim = $1
    `,
    [
      claim,
      encryptSecret(ctx, grant.accessToken),
      new Date(now + grant.expiresInSeconds * 1000),
      grant.refreshToken === null ? null : encryptSecret(ctx, grant.refreshToken),
      account.id,
    ],
  )
}

async function releaseClaim(ctx: Context, { account, claim }: RefreshClaim, seconds: number): Promise<void> {
  await ctx.db.query(
    'UPDATE connected_accounts SET refresh_claim = NULL, refresh_until = $2 WHERE id = $3 AND refresh_claim = $1',
    [claim, new Date(ctx.clock.now() + seconds * 1000), account.id],
  )
}
