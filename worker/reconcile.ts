/**
 * Keeps the schedule in Redis complete; PostgreSQL is the source of truth. The epoch key in Redis names the Redis
 * server that was filled. If it is missing (FLUSHALL, a lost disk, a requested refill) or names another server (a
 * restart), one worker schedules all waiting recipients again (schedule-refill.ts). In between, each sweep schedules a
 * slice of overdue recipients, and counts the suspended ones among them. A duplicate entry is harmless, because the
 * claim in PostgreSQL is guarded.
 */
import type { Context } from '#src/context.ts'
import { readWaiting, type Cursor } from '#src/messages/open-recipients.ts'
import { EPOCH_KEY } from '#src/queue/keys.ts'
import { addToSchedule } from '#src/queue/due-schedule.ts'
import { saveSuspendedCount } from '#src/queue/suspended-counts.ts'
import { TIER_NAMES, type Tier } from '#src/queue/tiers.ts'
import type { Round } from './loop.ts'
import { createRefill } from './schedule-refill.ts'

const SLICE = 5000
/** A recipient that is overdue for this long may be missing in Redis. */
const OVERDUE_MS = 10_000

interface ReconcileState {
  sweptAtMs: number
  /** The position of the next sweep, by tier. */
  readonly cursors: Map<Tier, Cursor | null>
  /** Suspended recipients up to that position. */
  readonly suspended: Map<Tier, number>
  /** The Redis server whose settings were checked. */
  checkedServer: string
}

export function createReconcileRound(ctx: Context): Round {
  const state: ReconcileState = {
    sweptAtMs: ctx.clock.now(),
    cursors: new Map(),
    suspended: new Map(),
    checkedServer: '',
  }
  const refill = createRefill(ctx)
  return async () => {
    if (ctx.redis.status !== 'ready') return false
    const server = await serverId(ctx)
    if (server !== state.checkedServer) await checkEvictionPolicy(ctx)
    state.checkedServer = server
    if ((await ctx.redis.get(EPOCH_KEY)) !== server) return refill(server)
    // the clock may have been set back
    if (Math.abs(ctx.clock.now() - state.sweptAtMs) >= ctx.config.reconcileSeconds * 1000) await sweep(ctx, state)
    return false
  }
}

/** Changes when Redis restarts or another server takes over. */
async function serverId(ctx: Context): Promise<string> {
  const info = await ctx.redis.info('server')
  return /run_id:(\w+)/.exec(info)?.[1] ?? 'unknown'
}

/** Checks the eviction policy: a Redis that evicts entries delays mail, because only a sweep finds it again. */
async function checkEvictionPolicy(ctx: Context): Promise<void> {
  const policy = /maxmemory_policy:(\S+)/.exec(await ctx.redis.info('memory'))?.[1]
  if (policy !== undefined && policy !== 'noeviction')
    ctx.log.error(
      { policy },
      'Redis evicts keys when it is full, so mail may be late; set its maxmemory-policy to noeviction',
    )
}

/** Schedules a slice of the overdue recipients of each tier, and counts those of suspended workspaces and campaigns. */
async function sweep(ctx: Context, state: ReconcileState): Promise<void> {
  state.sweptAtMs = ctx.clock.now()
  const overdue = new Date(ctx.clock.now() - OVERDUE_MS)
  for (const tier of TIER_NAMES) {
    const { due, held, next } = await readWaiting(ctx.db, tier, overdue, {
      cursor: state.cursors.get(tier) ?? null,
      limit: SLICE,
    })
    state.cursors.set(tier, next)
    if (due.length > 0) await addToSchedule(ctx, due)
    const count = (state.suspended.get(tier) ?? 0) + held
    state.suspended.set(tier, next === null ? 0 : count)
    await saveSuspendedCount(ctx.redis, { tier, count, isWhole: next === null })
  }
}
