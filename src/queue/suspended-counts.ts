/**
 * How many recipients of suspended workspaces and of suspended or paused campaigns wait, by tier. Nobody schedules
 * them, so the workers count them while they sweep overdue recipients (worker/reconcile.ts), which costs no further
 * query. A sweep of a long queue takes several slices: meanwhile the figure only rises, and it is exact at the end.
 * Redis has the counts; if they are lost, the next sweep counts again.
 */
import type { Redis } from '#src/stores/redis.ts'
import { SUSPENDED_COUNTS_KEY } from './keys.ts'
import type { Tier } from './tiers.ts'

/** A script, because several workers sweep at the same time. */
const SAVE = `
  if ARGV[3] == '1' or tonumber(ARGV[2]) > tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or '0') then
    redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
  end
`

export interface SuspendedCount {
  readonly tier: Tier
  readonly count: number
  /** The sweep has read all overdue recipients of the tier. */
  readonly isWhole: boolean
}

/** @throws while Redis is unavailable, as all functions here. */
export async function saveSuspendedCount(redis: Redis, { tier, count, isWhole }: SuspendedCount): Promise<void> {
  await redis.eval(SAVE, 1, SUSPENDED_COUNTS_KEY, tier, count, isWhole ? '1' : '0')
}

export async function readSuspendedCounts(redis: Redis): Promise<(tier: Tier) => number> {
  const counts = await redis.hgetall(SUSPENDED_COUNTS_KEY)
  return (tier) => Number(counts[tier] ?? 0)
}

/** For mail that was scheduled again: what is still suspended is counted by the next sweep. */
export async function clearSuspendedCounts(redis: Redis): Promise<void> {
  await redis.del(SUSPENDED_COUNTS_KEY)
}
