/**
 * An account with what is needed to sign in, for outbound processes only. The cache answers for a few seconds without asking, so that an
 * account that was changed, paused or removed is used at most that long as it was; a question that fails is not remembered.
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
  /** Forgets what is known of one, after its state was changed here. */
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

/** Of an account with SMTP credentials; null when they were replaced, or it was removed, since it was found. */
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
