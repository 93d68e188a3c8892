/**
 * The pending sign-ins of `sign-in.ts`: one row each, which lives for ten minutes and for one use. The state in URLs is
 * signed, so a forged one is rejected without a query. The steps are guarded by conditions in one statement each, so of
 * two requests at the same time only one continues: the first browser is bound, a code is exchanged once, and a
 * confirmation is used once. A callback without the cookie of that browser deletes the row, so that a code which was
 * given in another browser is never used.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { OAuthProvider } from '#config/oauth-providers.ts'
import type { Context } from '#src/context.ts'
import { readWithValidKeys, type DigestKeys } from '#src/crypto/encryption.ts'
import { hexOf, idOfHex, newId } from '#src/platform/id.ts'
import { suspendedEntirely } from '#src/queue/suspensions.ts'
import { sql } from '#src/stores/sql.ts'

export const LIFETIME_MS = 10 * 60 * 1000
const MAC_BYTES = 16

export interface SignInRequest {
  readonly workspaceId: string
  readonly provider: OAuthProvider
  /** The expected mailbox; null: any, if the provider returns the address. */
  readonly email: string | null
  readonly name: string | null
  /** The account to connect again. */
  readonly accountId: string | null
}

export interface PendingSignIn {
  readonly id: string
  readonly workspaceId: string
  /** As its owner wrote it. */
  readonly workspaceName: string
  readonly accountId: string | null
  readonly provider: string
  readonly name: string | null
  readonly email: string | null
  /** Encrypted. */
  readonly verifier: Buffer
}

type StateContext = Pick<Context, 'db' | 'clock' | 'encryption'>

export async function createState(
  ctx: StateContext,
  request: SignInRequest,
): Promise<{ readonly state: string; readonly expiresAt: Date }> {
  const now = ctx.clock.now()
  const id = newId(now)
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
      ctx.encryption.encrypt('oauth-verifier', randomBytes(32).toString('base64url')),
      expiresAt,
    ],
  )
  return { state: `${hexOf(id)}${macOf(ctx.encryption, hexOf(id)).toString('hex')}`, expiresAt }
}

function macOf(keys: DigestKeys, hex: string): Buffer {
  return keys.mac('oauth-state', hex).subarray(0, MAC_BYTES)
}

/** The id in a valid state; null for any other text. */
function readState(ctx: Pick<Context, 'encryption'>, state: string): string | null {
  const [, hex, mac] = /^([0-9a-f]{32})([0-9a-f]{32})$/.exec(state) ?? []
  if (hex === undefined || mac === undefined) return null
  return readWithValidKeys(ctx.encryption, (keys) =>
    timingSafeEqual(Buffer.from(mac, 'hex'), macOf(keys, hex)) ? idOfHex(hex) : null,
  )
}

function hashOf(browser: string | null): Buffer | null {
  return browser === null ? null : createHash('sha256').update(browser).digest()
}

const COLUMNS = sql`
  o.id, o.workspace_id AS "workspaceId", w.name AS "workspaceName", o.account_id AS "accountId", o.provider, o.name,
  o.email, o.verifier
`
/** $1 is the id, $2 the time. */
const IS_VALID = `o.id = $1 AND o.expires_at > $2 AND NOT ${suspendedEntirely('o.workspace_id')}`

async function run(
  ctx: StateContext,
  text: string,
  state: string,
  browser: string | null,
): Promise<PendingSignIn | null> {
  const id = readState(ctx, state)
  if (id === null) return null
  const values = [id, new Date(ctx.clock.now()), ...(text.includes('$3') ? [hashOf(browser)] : [])]
  const { rows } = await ctx.db.query<PendingSignIn>(text, values)
  return rows[0] ?? null
}

const FIND = sql`
  SELECT ${COLUMNS}
  FROM oauth_states o
  JOIN workspaces w ON w.id = o.workspace_id
  WHERE ${IS_VALID} AND o.exchanged_at IS NULL
`
const BIND = sql`
  UPDATE oauth_states o
  SET browser = $3
  FROM workspaces w
  WHERE ${IS_VALID}
    AND w.id = o.workspace_id
    AND o.exchanged_at IS NULL
    AND (o.browser IS NULL OR o.browser = $3)
  RETURNING ${COLUMNS}
`
const EXCHANGE = sql`
  UPDATE oauth_states o
  SET exchanged_at = $2
  FROM workspaces w
  WHERE ${IS_VALID} AND w.id = o.workspace_id AND o.exchanged_at IS NULL AND o.browser = $3
  RETURNING ${COLUMNS}
`
const CONSUME = sql`
  DELETE FROM oauth_states o
  USING workspaces w
  WHERE ${IS_VALID} AND w.id = o.workspace_id AND o.exchanged_at IS NOT NULL AND o.browser = $3
  RETURNING ${COLUMNS}
`

/** Null if the state is invalid, has expired, or its code was received already. Changes nothing. */
export function findState(ctx: StateContext, state: string): Promise<PendingSignIn | null> {
  return run(ctx, FIND, state, null)
}

/** Null as `findState`, and if another browser is bound. */
export function bindState(ctx: StateContext, state: string, browser: string): Promise<PendingSignIn | null> {
  return run(ctx, BIND, state, browser)
}

/** Allows the exchange of one code. Null, and the state is void, if this browser is not the one that is bound. */
export async function markExchanged(
  ctx: StateContext,
  state: string,
  browser: string | null,
): Promise<PendingSignIn | null> {
  const pending = await run(ctx, EXCHANGE, state, browser)
  if (pending === null) await deleteState(ctx, state, 'AND o.exchanged_at IS NULL')
  return pending
}

/** Ends a sign-in whose code was received in this browser. Null if there is none. */
export function consumeState(ctx: StateContext, state: string, browser: string | null): Promise<PendingSignIn | null> {
  return run(ctx, CONSUME, state, browser)
}

export async function deleteState(ctx: StateContext, state: string, condition = ''): Promise<void> {
  const id = readState(ctx, state)
  if (id !== null) await ctx.db.query(`DELETE FROM oauth_states o WHERE o.id = $1 ${condition}`, [id])
}
