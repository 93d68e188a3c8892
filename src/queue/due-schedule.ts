/**
 * Puts recipients on the schedule: sorted sets by tier and due time, and a word to the outbound processes when something is due now.
 * Nothing is lost when this fails: the epoch is dropped as soon as Redis answers again, and the worker fills the schedule from PostgreSQL.
 */
import type { Context } from '#src/context.ts'
import { addNews, announce, NO_NEWS, type News } from './notifications.ts'
import { DUE_CHANNEL, dueKey, EPOCH_KEY } from './keys.ts'
import { memberOf, type Member } from './member.ts'
import { TIER_NAMES, type Tier } from './tiers.ts'

export interface Due extends Member {
  readonly tier: Tier
  /** Epoch milliseconds. */
  readonly dueMs: number
}

type Wanted = Pick<Context, 'redis' | 'clock' | 'log'>

/** Adds recipients without waiting for Redis; `news` of the same commit goes with them. */
export function schedule(ctx: Wanted, due: readonly Due[], news: News = NO_NEWS): void {
  if (due.length === 0) return announce(ctx, news)
  addToSchedule(ctx, due, news).catch((error: unknown) => {
    ctx.log.debug(
      { err: error, count: due.length },
      'the schedule could not be told; it is filled again from PostgreSQL',
    )
    dropEpochWhenBack(ctx)
  })
}

/** Adds recipients; rejects when Redis is away. */
export async function addToSchedule(ctx: Wanted, due: readonly Due[], news: News = NO_NEWS): Promise<void> {
  const pipeline = ctx.redis.pipeline()
  const soon = ctx.clock.now() + 5
  for (const tier of TIER_NAMES) {
    const mine = due.filter((one) => one.tier === tier)
    if (mine.length === 0) continue
    pipeline.zadd(dueKey(tier), ...mine.flatMap((one) => [one.dueMs, memberOf(one)]))
    // for a later one the outbound processes only need to set their timers anew
    pipeline.publish(DUE_CHANNEL, mine.some((one) => one.dueMs <= soon) ? tier : 'later')
  }
  addNews(pipeline, news)
  const results = await pipeline.exec()
  const failure = results?.find(([error]) => error !== null)?.[0]
  if (failure) throw failure
}

const waiting = new WeakSet<object>()

/** Once Redis answers again, says that the schedule cannot be trusted. One of these waits at a time for each connection. */
function dropEpochWhenBack(ctx: Wanted): void {
  if (waiting.has(ctx.redis)) return
  waiting.add(ctx.redis)
  const retry = setInterval(() => {
    if (ctx.redis.status === 'end') return finish()
    ctx.redis.del(EPOCH_KEY).then(finish, () => undefined)
  }, 200).unref()
  function finish(): void {
    clearInterval(retry)
    waiting.delete(ctx.redis)
  }
}
