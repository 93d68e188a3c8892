/**
 * Maintains connected accounts: renews access tokens before they expire, so that no mail waits for a token and a
 * revoked grant is detected before mail needs it; ends suspensions of accounts that are no longer paused; and revokes
 * grants that nobody confirmed. Any number of workers may run these loops: access-tokens.ts lets one process at a time
 * request a token.
 */
import { loadOAuthProviders } from '#config/oauth-providers.ts'
import type { Context } from '#src/context.ts'
import { createHttpClient } from '#src/net/http-client.ts'
import { resumeForgottenAccounts } from '#src/providers/pause-account.ts'
import { createAccessTokens, type OAuthAccount } from '#src/providers/access-tokens.ts'
import { revokeUnconfirmed } from '#src/providers/unconfirmed-grants.ts'
import { sql } from '#src/stores/sql.ts'
import type { Round } from './loop.ts'

const AHEAD_MS = 5 * 60_000
const BATCH = 20

export function createAccountRound(ctx: Context): Round {
  const tokens = createAccessTokens(ctx, {
    providers: loadOAuthProviders(ctx.config.oauthProvidersFile),
    http: createHttpClient(ctx.config),
  })
  return async () => {
    await resumeForgottenAccounts(ctx)
    const { rows } = await ctx.db.query<OAuthAccount>(
      sql`
        SELECT id, generation, provider
        FROM connected_accounts
        WHERE kind = 'oauth' AND state = 'active' AND access_expires_at < $1
        ORDER BY access_expires_at
        LIMIT $2`,
      [new Date(ctx.clock.now() + AHEAD_MS), BATCH],
    )
    const found = await Promise.all(rows.map((account) => tokens.find(account, { aheadMs: AHEAD_MS })))
    // failed renewals come first in the next round, so it must not start immediately
    return rows.length === BATCH && found.every(({ kind }) => kind === 'token')
  }
}

export function createGrantRevocationRound(ctx: Context): Round {
  const deps = {
    providers: loadOAuthProviders(ctx.config.oauthProvidersFile),
    http: createHttpClient(ctx.config),
  }
  return () => revokeUnconfirmed(ctx, deps)
}
