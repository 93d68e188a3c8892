/**
 * Accounts and their passwords, for outbound processes. Accounts are cached for a few seconds, so a changed, paused or
 * removed account is used in its old state for at most that time. A failed lookup is not cached.
 */
import type { Context } from '#src/context.ts'
import { createLoadingCache } from '#src/concurrency/loading-cache.ts'
import { findAccount, decryptSecret, type Account } from './accounts.ts'

export type FoundAccount =
  | { readonly kind: 'ready'; readonly account: Account }
  | { readonly kind: 'paused'; readonly account: Account; readonly reason: string }
  | { readonly kind: 'gone' }

export interface AccountCache {
  find(id: string): Promise<FoundAccount>
  /** Removes an account from the cache after this process has changed its state. */
  forget(id: string): void
}

const FRESH = { max: 10_000, ttlMs: 2000 }

export function createAccountCache(ctx: Pick<Context, 'db' | 'clock'>): AccountCache {
  const cache = createLoadingCache<FoundAccount>(ctx.clock, FRESH)
  return { find: (id) => cache.get(id, () => load(ctx, id)), forget: (id) => cache.delete(id) }
}

async function load(ctx: Pick<Context, 'db'>, id: string): Promise<FoundAccount> {
  const account = await findAccount(ctx.db, null, id)
  if (account === null) return { kind: 'gone' }
  if (account.state === 'active') return { kind: 'ready', account }
  return { kind: 'paused', account, reason: account.pausedReason ?? 'no reason is known' }
}

/** The SMTP password; null when the credentials were replaced or the account was removed since it was found. */
export async function loadPassword(
  ctx: Pick<Context, 'db' | 'encryption'>,
  { id, generation }: Pick<Account, 'id' | 'generation'>,
): Promise<string | null> {
  const {
    rows: [row],
  } = await ctx.db.query<{ secret: Buffer }>(
    'SELECT secret FROM connected_accounts WHERE id = $1 AND generation = $2',
    [id, generation],
  )
  return row === undefined ? null : decryptSecret(ctx, row.secret)
}
