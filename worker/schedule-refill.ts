/**
 * Fills the schedule in Redis from PostgreSQL, in slices by tier and due time, the tier instant first. One worker does
 * it at a time, and another one continues where it died (src/queue/refill-progress.ts). A duplicate entry is harmless,
 * because the claim in PostgreSQL is guarded. A store away: the round fails, and the next one continues.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '#src/context.ts'
import type { Cursor } from '#src/messages/open-recipients.ts'
import { readWaitingEntries } from '#src/messages/waiting-entries.ts'
import { DUE_CHANNEL } from '#src/queue/keys.ts'
import {
  createRefillProgress,
  type RefillPart,
  type RefillProgress,
  type RefillSaved,
} from '#src/queue/refill-progress.ts'
import { TIER_NAMES } from '#src/queue/tiers.ts'

const SLICE = 5000
/** After this a round ends, so that the worker can stop; it continues at once. */
const BUDGET_MS = 2000
/** How often a worker checks whether the one that fills still lives. */
const BUSY_MS = 250

/** Between two slices: the tier by its place in TIER_NAMES, and the last recipient of it. */
interface Position {
  readonly tier: number
  readonly cursor: Cursor | null
}

const START: Position = { tier: 0, cursor: null }

/** Does a part of the refill if no other worker does it. Resolves with true while there is more to do. */
export type Refill = (server: string) => Promise<boolean>

export function createRefill(ctx: Context): Refill {
  const progress = createRefillProgress(ctx.redis, randomUUID())
  return async (server) => {
    const found = await progress.begin(server, ctx.clock.now())
    if (found === 'filled') return false
    if (found === 'busy') return sleep(BUSY_MS, true)
    return progress.whileRenewing(() => fill(ctx, progress, { server, part: found }))
  }
}

interface Task {
  readonly server: string
  readonly part: RefillPart
}

/** Fills slice after slice, for a limited time. True while there is more to do. */
async function fill(ctx: Context, progress: RefillProgress, { server, part: first }: Task): Promise<boolean> {
  const until = performance.now() + BUDGET_MS
  for (let part = first; performance.now() < until;) {
    const saved = await fillSlice(ctx, progress, { server, part })
    if (saved.kind === 'lost') return false
    if (saved.kind === 'filled') {
      await ctx.redis.publish(DUE_CHANNEL, 'filled')
      const { count, startedMs } = saved
      ctx.log.info({ count, ms: ctx.clock.now() - startedMs }, 'the schedule was filled from PostgreSQL')
      return false
    }
    ;({ part } = saved)
  }
  return true
}

async function fillSlice(ctx: Context, progress: RefillProgress, { server, part }: Task): Promise<RefillSaved> {
  const position = parse(part.position) ?? START
  const tier = TIER_NAMES[position.tier] ?? 'bulk'
  const slice = await readWaitingEntries(ctx.db, tier, { cursor: position.cursor, limit: SLICE })
  const following =
    slice.next === null ? { tier: position.tier + 1, cursor: null } : { ...position, cursor: slice.next }
  const isEnd = following.tier >= TIER_NAMES.length
  const stop = parse(part.stop)
  return progress.save(server, {
    from: part.position,
    to: isEnd ? '' : JSON.stringify(following),
    isPastStop: stop !== null && !isBefore(following, stop),
    tier,
    added: slice.count,
    entries: slice.entries,
    isDue: slice.firstMs !== null && slice.firstMs <= ctx.clock.now(),
  })
}

/** Null for ''. */
function parse(text: string): Position | null {
  return text === '' ? null : (JSON.parse(text) as Position)
}

/** In the order of the walk: by tier, due time, message and number. */
function isBefore(one: Position, other: Position): boolean {
  if (one.tier !== other.tier) return one.tier < other.tier
  if (one.cursor === null || other.cursor === null) return one.cursor === null && other.cursor !== null
  const [a, b] = [one.cursor, other.cursor]
  if (a.dueMicros !== b.dueMicros) return BigInt(a.dueMicros) < BigInt(b.dueMicros)
  return a.messageId === b.messageId ? a.n < b.n : a.messageId < b.messageId
}
