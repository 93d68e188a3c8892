/**
 * Keeps the schedule in Redis complete; PostgreSQL is the source of truth. The epoch key in Redis names the Redis
 * server that was filled. If it is missing (FLUSHALL, a lost disk, a requested refill) or names another server (a
 * restart), all waiting recipients are scheduled again, the tier instant first. In between, each sweep schedules a
 * slice of overdue recipients. A duplicate entry is harmless, because the claim in PostgreSQL is guarded.
 */
import type { Context } from '#src/context.ts'
import { readWaiting, type Cursor } from '#src/messages/open-recipients.ts'
import { DUE_CHANNEL, EPOCH_KEY } from '#src/queue/keys.ts'
import { addToSchedule } from '#src/queue/due-schedule.ts'
import { TIER_NAMES, type Tier } from '#src/queue/tiers.ts'
import type { Round } from './loop.ts'

const SLICE = 5000
/** A recipient that is overdue for this long may be missing in Redis. */
const OVERDUE_MS = 10_000
const FOREVER = new Date(Date.UTC(9999, 0))

interface ReconcileState {
  sweptAtMs: number
  /** The position of the next sweep, by tier. */
  readonly cursors: Map<Tier, Cursor | null>
  /** The Redis server whose settings were checked. */
  checkedServer: string
}

export function createReconcileRound(ctx: Context): Round {
  const state: ReconcileState = { sweptAtMs: ctx.clock.now(), cursors: new Map(), checkedServer: '' }
  return async () => {
    if (ctx.redis.status !== 'ready') return false
    const server = await serverId(ctx)
    if (server !== state.checkedServer) await checkEvictionPolicy(ctx)
    state.checkedServer = server
    if ((await ctx.redis.get(EPOCH_KEY)) !== server) await fill(ctx, server)
    else if (ctx.clock.now() - state.sweptAtMs >= ctx.config.reconcileSeconds * 1000) await sweep(ctx, state)
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

/**
 * Schedules all waiting recipients. A token is set first and replaced by the epoch at the end: a FLUSHALL in between
 * deletes the token, so that the next round fills again.
 */
async function fill(ctx: Context, server: string): Promise<void> {
  const startedAt = ctx.clock.now()
  const token = `${server} filling ${startedAt}`
  await ctx.redis.set(EPOCH_KEY, token)
  let count = 0
  for (const tier of TIER_NAMES) {
    for (let cursor: Cursor | null = null; ;) {
      const { due, next } = await readWaiting(ctx.db, tier, FOREVER, { cursor, limit: SLICE })
      await addToSchedule(ctx, due)
      count += due.length
      cursor = next
      if (cursor === null) break
    }
  }
  if ((await ctx.redis.get(EPOCH_KEY)) === token) await ctx.redis.set(EPOCH_KEY, server)
  await ctx.redis.publish(DUE_CHANNEL, 'filled')
  ctx.log.info({ count, ms: ctx.clock.now() - startedAt }, 'the schedule was filled from PostgreSQL')
}

/** Schedules one slice of the overdue recipients of each tier. */
async function sweep(ctx: Context, state: ReconcileState): Promise<void> {
  state.sweptAtMs = ctx.clock.now()
  const overdue = new Date(ctx.clock.now() - OVERDUE_MS)
  for (const tier of TIER_NAMES) {
    const { due, next } = await readWaiting(ctx.db, tier, overdue, {
      cursor: state.cursors.get(tier) ?? null,
      limit: SLICE,
    })
    state.cursors.set(tier, next)
    if (due.length > 0) await addToSchedule(ctx, due)
  }
}
