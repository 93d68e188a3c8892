/**
 * Destinations that the operator has stopped. Their recipients stay waiting in PostgreSQL and are kept aside in Redis; nothing is tried and nothing counted.
 * Resuming drops the schedule's epoch, so that all that waits is put on it again.
 * An outbound process learns of a change by Redis at once, and by looking every few seconds when Redis was away.
 */
import type { Context } from '#src/context.ts'
import type { Queryable } from '#src/db.ts'
import { EPOCH_KEY, isSuspendedSite, readyKey, SITES_KEY, suspendedSite, SUSPENSIONS_CHANNEL } from './keys.ts'
import { TIER_NAMES } from './tiers.ts'

export interface Suspension {
  readonly domain: string
  readonly reason: string
  readonly createdAt: Date
}

const LOOK_MS = 5000

type Wanted = Pick<Context, 'db' | 'redis'>

export async function listSuspensions(db: Queryable): Promise<Suspension[]> {
  return (await db.query<Suspension>('SELECT domain, reason, created_at AS "createdAt" FROM suspensions ORDER BY domain')).rows
}

/** Stops a recipient domain, or all mail with `*`. */
export async function suspend(ctx: Wanted, domain: string, reason: string): Promise<void> {
  await ctx.db.query('INSERT INTO suspensions (domain, reason) VALUES ($1, $2) ON CONFLICT (domain) DO UPDATE SET reason = excluded.reason', [domain.toLowerCase(), reason])
  await announce(ctx)
}

/** False when it was not suspended. */
export async function resume(ctx: Wanted, domain: string): Promise<boolean> {
  const { rowCount } = await ctx.db.query('DELETE FROM suspensions WHERE domain = $1', [domain.toLowerCase()])
  if (rowCount === 0) return false
  await announce(ctx)
  await clearAside(ctx, domain.toLowerCase()).catch(() => undefined)
  return true
}

/** Forgets what was kept aside and has it put on the schedule anew. */
async function clearAside({ redis }: Wanted, domain: string): Promise<void> {
  const isMeant = (site: string): boolean => domain === '*' ? isSuspendedSite(site) : site === suspendedSite(domain)
  for (const site of (await redis.zrange(SITES_KEY, '0', '-1')).filter(isMeant)) {
    await redis.del(...TIER_NAMES.map((tier) => readyKey(site, tier)))
    await redis.zrem(SITES_KEY, site)
  }
  await redis.del(EPOCH_KEY)
}

function announce(ctx: Wanted): Promise<unknown> {
  return ctx.redis.publish(SUSPENSIONS_CHANNEL, '').catch(() => undefined)
}

export interface SuspensionWatch {
  /** Why mail to a domain is stopped; undefined when it is not. */
  find(domain: string): string | undefined
  /** Looks again now. */
  refresh(): Promise<void>
  stop(): void
}

/** @throws when PostgreSQL is away at the start. */
export async function watchSuspensions(ctx: Context): Promise<SuspensionWatch> {
  let reasons = new Map<string, string>()
  async function refresh(): Promise<void> {
    reasons = new Map((await listSuspensions(ctx.db)).map(({ domain, reason }) => [domain, reason]))
  }
  await refresh()
  const timer = setInterval(() => void refresh().catch((error: unknown) => ctx.log.debug({ err: error }, 'suspensions could not be read')), LOOK_MS)
  return {
    find: (domain) => reasons.get(domain) ?? reasons.get('*'),
    refresh,
    stop: () => clearInterval(timer),
  }
}
