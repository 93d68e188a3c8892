/**
 * Adds recipients to the schedule in Redis: sorted sets by tier and due time, and a message to the outbound processes
 * when something is due now. A failure loses nothing: the epoch is deleted as soon as Redis answers again, and the
 * worker rebuilds the schedule from PostgreSQL.
 */
import type { Context } from '#src/context.ts'
import { addNotifications, publishNotifications, NO_NOTIFICATIONS, type CommitNotifications } from './notifications.ts'
import { DUE_CHANNEL, dueKey, EPOCH_KEY } from './keys.ts'
import { memberOf, type ScheduleMember } from './member.ts'
import { TIER_NAMES, type Tier } from './tiers.ts'

export interface DueRecipient extends ScheduleMember {
  readonly tier: Tier
  /** Epoch milliseconds. */
  readonly dueMs: number
}

type ScheduleDeps = Pick<Context, 'redis' | 'clock' | 'log'>

/** Adds recipients without waiting for Redis, and publishes the notifications of the same commit. */
export function schedule(
  ctx: ScheduleDeps,
  due: readonly DueRecipient[],
  notifications: CommitNotifications = NO_NOTIFICATIONS,
): void {
  if (due.length === 0) return publishNotifications(ctx, notifications)
  addToSchedule(ctx, due, notifications).catch((error: unknown) => {
    ctx.log.debug(
      { err: error, count: due.length },
      'failed to add recipients to the schedule; the worker rebuilds it from PostgreSQL',
    )
    dropEpochWhenBack(ctx)
  })
}

/** Adds recipients; rejects if Redis is unavailable. */
export async function addToSchedule(
  ctx: ScheduleDeps,
  due: readonly DueRecipient[],
  notifications: CommitNotifications = NO_NOTIFICATIONS,
): Promise<void> {
  const pipeline = ctx.redis.pipeline()
  const soon = ctx.clock.now() + 5
  for (const tier of TIER_NAMES) {
    const ofTier = due.filter((one) => one.tier === tier)
    if (ofTier.length === 0) continue
    pipeline.zadd(dueKey(tier), ...ofTier.flatMap((one) => [one.dueMs, memberOf(one)]))
    // for a later due time the outbound processes only reset their timers
    pipeline.publish(DUE_CHANNEL, ofTier.some((one) => one.dueMs <= soon) ? tier : 'later')
  }
  addNotifications(pipeline, notifications)
  const results = await pipeline.exec()
  const failure = results?.find(([error]) => error !== null)?.[0]
  if (failure) throw failure
}

const waiting = new WeakSet<object>()

/** Deletes the epoch once Redis answers again, so that the schedule is rebuilt. One such retry runs per connection. */
function dropEpochWhenBack(ctx: ScheduleDeps): void {
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
