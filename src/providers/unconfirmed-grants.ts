/**
 * Grants that a provider gave and nobody confirmed: the owner of a mailbox signed in, then declined, closed the page,
 * or the sign-in failed (sign-in.ts). The worker revokes them at the provider (RFC 7009, decision 049).
 *
 * A grant is stored when its code was exchanged, encrypted so that only the worker can read it. The confirmation
 * removes it. It becomes due at once when the sign-in fails or is declined, otherwise when it cannot be confirmed any
 * more.
 *
 * - A provider may revoke everything that a person granted this service (Google does). So nothing is revoked while a
 *   connected account has the mailbox, or another sign-in with it may still be confirmed.
 * - The process dies between the exchange and the row: the grant stays at the provider until its owner removes it.
 * - The worker dies: the request is repeated. Revoking twice does no harm.
 * - The provider does not respond: the request is repeated with increasing delays for about a day.
 */
import type { OAuthProvider, OAuthProviders } from '#config/oauth-providers.ts'
import type { Context } from '#src/context.ts'
import type { HttpClient } from '#src/net/http-client.ts'
import { sql } from '#src/stores/sql.ts'
import { revokeToken } from './oauth.ts'

const PURPOSE = 'unconfirmed-grant'
const BATCH = 20
const MAX_ATTEMPTS = 12
/** Doubled with each attempt. Longer than a request takes, so that two workers never revoke the same grant at once. */
const FIRST_DELAY_SECONDS = 60
const LONGEST_DELAY_SECONDS = 4 * 3600

export interface UnconfirmedGrant {
  /** Of the sign-in. */
  readonly id: string
  readonly workspaceId: string
  /** Null if the provider does not return it. */
  readonly username: string | null
  /** The refresh token, or an access token if there is none. */
  readonly token: string
  readonly revokeAt: Date
}

/** Stores a grant until it is confirmed. Nothing if the provider has no endpoint to revoke it. */
export async function holdGrant(
  { db, encryption }: Pick<Context, 'db' | 'encryption'>,
  { name, revokeUrl }: OAuthProvider,
  { id, workspaceId, username, token, revokeAt }: UnconfirmedGrant,
): Promise<void> {
  if (revokeUrl === null) return
  await db.query(
    sql`
      INSERT INTO unconfirmed_grants (id, workspace_id, provider, username, token, revoke_at)
      VALUES ($1, $2, $3, $4, $5, $6)
    `,
    [id, workspaceId, name, username, encryption.encrypt(PURPOSE, token), revokeAt],
  )
}

/** The grant is confirmed and stored. */
export async function forgetGrant({ db }: Pick<Context, 'db'>, id: string): Promise<void> {
  await db.query('DELETE FROM unconfirmed_grants WHERE id = $1', [id])
}

/** The grant cannot be confirmed any more. */
export async function revokeSoon({ db, clock }: Pick<Context, 'db' | 'clock'>, id: string): Promise<void> {
  await db.query('UPDATE unconfirmed_grants SET revoke_at = $2 WHERE id = $1', [id, new Date(clock.now())])
}

interface DueGrant {
  readonly id: string
  readonly provider: string
  readonly token: Buffer
  readonly attempts: number
  /** An account has this mailbox. */
  readonly isConnected: boolean
}

// $1 is the time
const CLAIM = sql`
  WITH due AS (
    SELECT id
    FROM unconfirmed_grants g
    WHERE revoke_at <= $1
      AND NOT EXISTS (
        SELECT
        FROM unconfirmed_grants o
        WHERE o.provider = g.provider AND o.username = g.username AND o.revoke_at > $1 AND o.attempts = 0
      )
    ORDER BY revoke_at
    LIMIT ${BATCH}
    FOR UPDATE SKIP LOCKED
  )
  UPDATE unconfirmed_grants g
  SET attempts = attempts + 1,
    revoke_at = $1 + least(${FIRST_DELAY_SECONDS} * 2 ^ attempts, ${LONGEST_DELAY_SECONDS}) * interval '1 second'
  FROM due
  WHERE g.id = due.id
  RETURNING g.id, g.provider, g.token, g.attempts,
    EXISTS (
      SELECT
      FROM connected_accounts a
      WHERE a.kind = 'oauth' AND a.provider = g.provider AND lower(a.username) = g.username
    ) AS "isConnected"
`

export interface RevocationDeps {
  readonly providers: OAuthProviders
  readonly http: HttpClient
}

/** Revokes the grants that are due. Returns whether there may be more. */
export async function revokeUnconfirmed(
  ctx: Pick<Context, 'db' | 'clock' | 'encryption' | 'log'>,
  deps: RevocationDeps,
): Promise<boolean> {
  const { rows } = await ctx.db.query<DueGrant>(CLAIM, [new Date(ctx.clock.now())])
  await Promise.all(rows.map((grant) => revoke(ctx, deps, grant)))
  return rows.length === BATCH
}

async function revoke(
  ctx: Pick<Context, 'db' | 'encryption' | 'log'>,
  deps: RevocationDeps,
  grant: DueGrant,
): Promise<void> {
  const problem = grant.isConnected ? null : await requestRevocation(ctx, deps, grant)
  if (problem === null) return forgetGrant(ctx, grant.id)
  const fields = { provider: grant.provider, signIn: grant.id, problem }
  if (grant.attempts < MAX_ATTEMPTS) return ctx.log.debug(fields, 'failed to revoke an OAuth grant; it is retried')
  ctx.log.warn(
    fields,
    'failed to revoke an OAuth grant that was not confirmed; its owner can remove it at the provider',
  )
  await forgetGrant(ctx, grant.id)
}

/** Null: it is revoked, or the provider has no endpoint for it any more. */
async function requestRevocation(
  { encryption }: Pick<Context, 'encryption'>,
  { providers, http }: RevocationDeps,
  { provider: name, token }: DueGrant,
): Promise<string | null> {
  const provider = providers.get(name)
  if (provider === undefined || provider.revokeUrl === null) return null
  try {
    const secret = encryption.decrypt(PURPOSE, token).toString('utf8')
    return await revokeToken(http, { ...provider, revokeUrl: provider.revokeUrl }, secret)
  } catch (error) {
    return error instanceof Error ? error.message : String(error) // its master key was removed
  }
}
