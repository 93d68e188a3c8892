/**
 * The schedule in Redis: sorted sets by tier and due time. Adds recipients, with a message to the outbound processes
 * when something is due now, and pops what is due. A failure loses nothing: the epoch is deleted as soon as Redis
 * answers again, and the worker rebuilds the schedule from PostgreSQL. Recipients that were popped by a process that
 * died are found again in the same way.
 */
import type { Context } from '#src/context.ts'
import type { Redis } from '#src/stores/redis.ts'
import { addNotifications, publishNotifications, NO_NOTIFICATIONS, type CommitNotifications } from './notifications.ts'
import { DUE_CHANNEL, dueKey, EPOCH_KEY, memberOf, probeDueKey, type ScheduleMember } from './keys.ts'
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

/** KEYS due set; ARGV now, limit → members with scores, flat; then the next score or ''. */
const POP_DUE = `
local popped = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'WITHSCORES', 'LIMIT', 0, ARGV[2])
if #popped > 0 then
  local members = {}
  for i = 1, #popped, 2 do members[#members + 1] = popped[i] end
  redis.call('ZREM', KEYS[1], unpack(members))
end
local following = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
return {popped, following[2] or ''}`

interface DueScript {
  popDue(key: string, nowMs: number, limit: number): Promise<[members: string[], nextMs: string]>
}

export interface DueEntry {
  readonly member: string
  /** Epoch ms. */
  readonly dueMs: number
}

export interface DueSchedule {
  /**
   * Removes at most `limit` due recipients of a tier, the earliest first; `nextMs`: when the next is due (epoch ms),
   * or null. Rejects while Redis is away.
   */
  popDue(tier: Tier, nowMs: number, limit: number): Promise<{ due: DueEntry[]; nextMs: number | null }>
}

const PROBE_TTL_MS = 60_000

/** Schedules and pops an entry in a schedule of its own. @throws if Redis does not do what the schedule needs. */
export async function probeDueSchedule(redis: Redis, probe: string): Promise<void> {
  const key = probeDueKey(probe)
  // it expires if this process dies before it pops the entry
  await redis.multi().zadd(key, 1, probe).pexpire(key, PROBE_TTL_MS).exec()
  const [flat] = await defineScript(redis).popDue(key, 1, 1)
  if (flat[0] !== probe) throw new Error('the schedule in Redis lost an entry')
}

export function createDueSchedule(redis: Redis): DueSchedule {
  const scripted = defineScript(redis)
  return {
    popDue: async (tier, nowMs, limit) => {
      const [flat, next] = await scripted.popDue(dueKey(tier), nowMs, limit)
      return { due: dueEntriesOf(flat), nextMs: next === '' ? null : Number(next) }
    },
  }
}

function defineScript(redis: Redis): Redis & DueScript {
  if (!isScripted(redis)) redis.defineCommand('popDue', { numberOfKeys: 1, lua: POP_DUE })
  if (!isScripted(redis)) throw new Error('ioredis did not define the script of the schedule')
  return redis
}

function isScripted(redis: Redis): redis is Redis & DueScript {
  return 'popDue' in redis
}

function dueEntriesOf(flat: readonly string[]): DueEntry[] {
  const entries: DueEntry[] = []
  for (let i = 0; i + 1 < flat.length; i += 2) entries.push({ member: flat[i] ?? '', dueMs: Number(flat[i + 1]) })
  return entries
}
