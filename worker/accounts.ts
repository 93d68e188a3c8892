/**
 * Upkeep of connected accounts: access tokens are renewed before they run out, so that no mail waits for one and a grant that was revoked
 * is found out before mail needs it; and mail of accounts that are not paused any more is let go where that was cut short. One process at a
 * time asks for a token (tokens.ts), whoever else runs this loop.
 */
import { loadOAuthProviders } from '#config/oauth-providers.ts'
import type { Context } from '#src/context.ts'
import { createHttpClient } from '#src/net/http-client.ts'
import { resumeForgottenAccounts } from '#src/providers/pause-account.ts'
import { createAccessTokens, type OAuthAccount } from '#src/providers/access-tokens.ts'
import type { LoopSpec } from './loop.ts'

const EVERY_MS = 30_000
const AHEAD_MS = 5 * 60_000
const BATCH = 20

export function accountLoop(ctx: Context): LoopSpec {
  const tokens = createAccessTokens(ctx, {
    providers: loadOAuthProviders(ctx.config.oauthProvidersFile),
    http: createHttpClient(ctx.config),
  })
  return {
    name: 'connected accounts',
    everyMs: Math.max(1000, EVERY_MS * Math.min(1, ctx.config.retryScale)),
    round: async () => {
      await resumeForgottenAccounts(ctx)
      const { rows } = await ctx.db.query<OAuthAccount>(
        `
        SELECT id, generation, provider FROM connected_accounts
        WHERE kind = 'oauth' AND state = 'active' AND access_expires_at < $1 ORDER BY access_expires_at LIMIT $2`,
        [new Date(ctx.clock.now() + AHEAD_MS), BATCH],
      )
      const found = await Promise.all(rows.map((account) => tokens.find(account, { aheadMs: AHEAD_MS })))
      // those that could not be renewed come first again: not at once
      return rows.length === BATCH && found.every(({ kind }) => kind === 'token')
    },
  }
}
