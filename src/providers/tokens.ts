/**
 * Access tokens of mailboxes over OAuth: from memory, else from PostgreSQL where they stand sealed, else new from the provider. However
 * many processes need one, one of them asks: it claims the account for half a minute, in a row and not in a transaction, and the others
 * wait for what it brings.
 *
 * Dies while it asks: the claim runs out and another asks. The provider changed the refresh token and we died before it was stored: it is
 * lost, and with providers that take each only once the account pauses and has to be connected again. The grant was revoked: the account
 * is paused. The provider does not answer: the mail waits, and it is left alone for some seconds.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { OAuthProviders } from '#config/oauth-providers.ts'
import type { Context } from '#src/context.ts'
import { newId } from '#src/platform/id.ts'
import type { Outgoing } from '#src/net/http-client.ts'
import { sql } from '#src/stores/sql.ts'
import { openSecret, sealSecret, type Account } from './accounts.ts'
import { refreshToken, type Granted } from './oauth.ts'
import { pauseAccount } from './pause-account.ts'

export type Token =
  | { readonly kind: 'token'; readonly token: string }
  /** The account is paused now. */
  | { readonly kind: 'revoked'; readonly reason: string }
  | { readonly kind: 'later'; readonly reason: string }

export interface Tokens {
  /** `refused` is one that a server did not take although it should be good; `aheadMs`: it must be good for so long. */
  find(account: OAuthAccount, wanted?: { readonly refused?: string | null; readonly aheadMs?: number }): Promise<Token>
}

export type OAuthAccount = Pick<Account, 'id' | 'generation' | 'provider'>

export interface TokenParts {
  readonly providers: OAuthProviders
  readonly outgoing: Outgoing
}

/** A conversation begun with it has so long to sign in. */
const AHEAD_MS = 60_000
const CLAIM_SECONDS = 30
/** After a provider that did not answer, before RETRY_SCALE. */
const PAUSE_SECONDS = 5
const WAIT_MS = 20_000
const LOOK_MS = 100

interface Kept {
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

const MOST_KEPT = 10_000

export function createTokens(ctx: Context, parts: TokenParts): Tokens {
  const kept = new Map<string, Kept>()
  const underWay = new Map<string, Promise<Token>>()
  const isGood = (one: Kept, wanted: Wanted): boolean =>
    one.generation === wanted.account.generation &&
    one.token !== wanted.refused &&
    one.expiresMs - ctx.clock.now() > wanted.aheadMs
  return {
    find: async (account, { refused = null, aheadMs = AHEAD_MS } = {}) => {
      const wanted = { account, refused, aheadMs }
      const known = kept.get(account.id)
      if (known !== undefined && isGood(known, wanted)) return { kind: 'token', token: known.token }
      const name = `${account.id} ${account.generation} ${refused ?? ''}`
      const asked =
        underWay.get(name) ??
        obtain(ctx, parts, wanted, (one) => {
          if (kept.size >= MOST_KEPT) kept.clear()
          kept.set(account.id, one)
        }).finally(() => underWay.delete(name))
      underWay.set(name, asked)
      return asked
    },
  }
}

interface Wanted {
  readonly account: OAuthAccount
  readonly refused: string | null
  readonly aheadMs: number
}

/** Looks, claims and asks, or waits for who does. */
async function obtain(ctx: Context, parts: TokenParts, wanted: Wanted, keep: (one: Kept) => void): Promise<Token> {
  const { account } = wanted
  for (const end = performance.now() + WAIT_MS; performance.now() < end; await sleep(LOOK_MS)) {
    const row = await readRow(ctx, account)
    if (row === null) return { kind: 'later', reason: 'the account was changed or removed meanwhile' }
    const stored = readStored(ctx, row)
    if (stored !== null && stored.token !== wanted.refused && stored.expiresMs - ctx.clock.now() > wanted.aheadMs) {
      keep(stored)
      return { kind: 'token', token: stored.token }
    }
    const claim = await claimRefresh(ctx, account, row)
    if (claim !== null) return await refresh(ctx, parts, { account, claim, secret: openSecret(ctx, row.secret) })
  }
  return { kind: 'later', reason: 'a new access token did not come in time' }
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

function readStored(ctx: Context, { token, expiresAt, generation }: Row): Kept | null {
  if (token === null || expiresAt === null) return null
  return { generation, token: openSecret(ctx, token), expiresMs: expiresAt.getTime() }
}

/** Null while another has it, or when there is something new to look at. */
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

interface Claimed {
  readonly account: OAuthAccount
  readonly claim: string
}

interface Refreshing extends Claimed {
  readonly secret: string
}

async function refresh(
  ctx: Context,
  { providers, outgoing }: TokenParts,
  { account, claim, secret }: Refreshing,
): Promise<Token> {
  const provider = providers.get(account.provider ?? '')
  const granted: Granted =
    provider === undefined
      ? { kind: 'trouble', reason: `the provider ${account.provider ?? ''} is not configured any more` }
      : await refreshToken(outgoing, provider, secret)
  if (granted.kind === 'granted') {
    await storeGrant(ctx, { account, claim }, granted)
    return { kind: 'token', token: granted.accessToken }
  }
  if (granted.kind === 'revoked') {
    await leaveAlone(ctx, { account, claim }, 0)
    await pauseAccount(ctx, account, granted.reason)
    return { kind: 'revoked', reason: granted.reason }
  }
  await leaveAlone(ctx, { account, claim }, PAUSE_SECONDS * ctx.config.retryScale)
  return { kind: 'later', reason: granted.reason }
}

/** The claim is the guard: who lost it, or whose account was connected again meanwhile, stores nothing. */
async function storeGrant(
  ctx: Context,
  { account, claim }: Claimed,
  granted: Extract<Granted, { kind: 'granted' }>,
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
      sealSecret(ctx, granted.accessToken),
      new Date(now + granted.expiresInSeconds * 1000),
      granted.refreshToken === null ? null : sealSecret(ctx, granted.refreshToken),
      account.id,
    ],
  )
}

async function leaveAlone(ctx: Context, { account, claim }: Claimed, seconds: number): Promise<void> {
  await ctx.db.query(
    'UPDATE connected_accounts SET refresh_claim = NULL, refresh_until = $2 WHERE id = $3 AND refresh_claim = $1',
    [claim, new Date(ctx.clock.now() + seconds * 1000), account.id],
  )
}
