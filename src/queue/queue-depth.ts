/** The depth of the queues, from Redis: how many recipients of each tier are scheduled, ready and suspended. */
import type { Redis } from '#src/stores/redis.ts'
import { dueKey, isSuspendedSite, readyKey, SITES_KEY } from './keys.ts'
import { readSuspendedCounts } from './suspended-counts.ts'
import { TIER_NAMES, type Tier } from './tiers.ts'

export interface TierDepth {
  readonly tier: Tier
  /** Due later, or not yet assigned to a site. */
  readonly scheduled: number
  readonly ready: number
  /** Of suspended domains, sites, workspaces and campaigns, and of paused campaigns. */
  readonly suspended: number
}

/** @throws while Redis is unavailable. */
export async function readQueueDepth(redis: Redis): Promise<TierDepth[]> {
  const [sites, countSuspended] = await Promise.all([redis.zrange(SITES_KEY, '0', '-1'), readSuspendedCounts(redis)])
  return Promise.all(
    TIER_NAMES.map(async (tier) => {
      const keysOf = (isSuspended: boolean): string[] =>
        sites.filter((site) => isSuspendedSite(site) === isSuspended).map((site) => readyKey(site, tier))
      const [scheduled, ready, parked] = await Promise.all([
        redis.zcard(dueKey(tier)),
        sumOf(redis, keysOf(false)),
        sumOf(redis, keysOf(true)),
      ])
      return { tier, scheduled, ready, suspended: parked + countSuspended(tier) }
    }),
  )
}

async function sumOf(redis: Redis, keys: readonly string[]): Promise<number> {
  const pipeline = redis.pipeline()
  for (const key of keys) pipeline.zcard(key)
  const replies = await pipeline.exec()
  return (replies ?? []).reduce((sum, [, count]) => sum + (typeof count === 'number' ? count : 0), 0)
}
