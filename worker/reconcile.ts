/**
 * PostgreSQL decides, Redis reminds: this loop keeps the reminder complete. The epoch in Redis names the server that was filled; when it is missing
 * (FLUSHALL, a lost disk, somebody's request) or names another (a restart), everything that waits is put on the schedule again, instant first.
 * Between that, each round looks at what should have left a while ago. One entry too many does no harm: the claim is guarded in PostgreSQL.
 */
import type { Context } from '#src/context.ts'
import { readWaiting, type Cursor } from '#src/messages/open-recipients.ts'
import { DUE_CHANNEL, EPOCH_KEY } from '#src/queue/keys.ts'
import { addToSchedule } from '#src/queue/due-schedule.ts'
import { TIER_NAMES, type Tier } from '#src/queue/tiers.ts'
import type { LoopSpec } from './loop.ts'

const CHECK_MS = 1000
const SLICE = 5000
/** Overdue for this long: it may have been forgotten. What is merely waiting in line is looked at a slice at a time. */
const OVERDUE_MS = 10_000
const FOREVER = new Date(Date.UTC(9999, 0))

interface ReconcileState {
  sweptAtMs: number
  /** Where the next sweep of a long line goes on. */
  readonly cursors: Map<Tier, Cursor | null>
  /** The Redis whose settings were looked at. */
  checkedServer: string
}

export function reconcileLoop(ctx: Context): LoopSpec {
  const state: ReconcileState = { sweptAtMs: ctx.clock.now(), cursors: new Map(), checkedServer: '' }
  return {
    name: 'reconcile',
    everyMs: Math.min(CHECK_MS, ctx.config.reconcileSeconds * 1000),
    round: async () => {
      if (ctx.redis.status !== 'ready') return false
      const server = await serverId(ctx)
      if (server !== state.checkedServer) await checkEvictionPolicy(ctx)
      state.checkedServer = server
      if ((await ctx.redis.get(EPOCH_KEY)) !== server) await fill(ctx, server)
      else if (ctx.clock.now() - state.sweptAtMs >= ctx.config.reconcileSeconds * 1000) await sweep(ctx, state)
      return false
    },
  }
}

/** Changes when Redis restarts or another server takes over. */
async function serverId(ctx: Context): Promise<string> {
  const info = await ctx.redis.info('server')
  return /run_id:(\w+)/.exec(info)?.[1] ?? 'unknown'
}

/** A Redis that throws entries away when it is full makes mail late: it is found again, but only when it is overdue. */
async function checkEvictionPolicy(ctx: Context): Promise<void> {
  const policy = /maxmemory_policy:(\S+)/.exec(await ctx.redis.info('memory'))?.[1]
  if (policy !== undefined && policy !== 'noeviction')
    ctx.log.error(
      { policy },
      'Redis evicts keys when it is full, so mail may wait for the next reconcile; set its maxmemory-policy to noeviction',
    )
}

/**
 * Puts all that waits on the schedule. The epoch is set first, and what is dropped while we fill makes the next round fill again:
 * set at the end, it would hide a FLUSHALL that came in the middle.
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

/** One slice of what is overdue in each tier. */
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
