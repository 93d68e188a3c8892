/**
 * How figures of all processes come to one place: each writes what it has into Redis every few seconds, and whoever is asked reads all of
 * it. So one address tells everything, on any number of machines, and no process but the api needs a port for it. What is told is some
 * seconds old; a process that ended is gone from it soon after. Redis away: nobody hears of the others.
 */
import { isRedisReady, type Redis } from '#src/stores/redis.ts'
import type { Snapshot } from './registry.ts'
import type { Told } from './exposition-format.ts'

export const TELL_MS = 5000
const GONE_MS = 4 * TELL_MS
const PATIENCE_MS = 1000
/** One slot, so that they are read together in a Redis Cluster. */
const INDEX = 'mailstead:{metrics}'
const keyOf = (process: string): string => `mailstead:{metrics}:${process}`
/** Of the whole installation, told by one worker. */
const QUEUE = 'queue'
const QUEUE_MS = 60_000

/** Lost when Redis is away. */
export async function tellFigures(redis: Redis, process: string, snapshot: Snapshot): Promise<void> {
  if (!isRedisReady(redis)) return
  const now = Date.now()
  await redis
    .multi()
    .zadd(INDEX, now, process)
    .zremrangebyscore(INDEX, '-inf', now - GONE_MS)
    .set(keyOf(process), JSON.stringify(snapshot), 'PX', GONE_MS)
    .exec()
}

export async function forgetFigures(redis: Redis, process: string): Promise<void> {
  if (isRedisReady(redis)) await redis.multi().zrem(INDEX, process).del(keyOf(process)).exec()
}

/** True for one caller in each `everyMs`, of all workers. */
export async function isMyTurn(redis: Redis, everyMs: number): Promise<boolean> {
  return isRedisReady(redis) && (await redis.set(keyOf(`${QUEUE}:turn`), '1', 'PX', everyMs, 'NX')) === 'OK'
}

export async function tellQueue(redis: Redis, snapshot: Snapshot): Promise<void> {
  await redis.set(keyOf(QUEUE), JSON.stringify(snapshot), 'PX', QUEUE_MS)
}

/** What all other processes told lately; nothing while Redis does not answer. */
export async function hearFigures(redis: Redis, self: string): Promise<Told[]> {
  if (!isRedisReady(redis)) return []
  const late = new Promise<Told[]>((resolve) => setTimeout(resolve, PATIENCE_MS, []).unref())
  return Promise.race([hear(redis, self).catch(() => []), late])
}

async function hear(redis: Redis, self: string): Promise<Told[]> {
  const processes = (await redis.zrangebyscore(INDEX, Date.now() - GONE_MS, '+inf')).filter(
    (process) => process !== self,
  )
  const texts = await redis.mget(keyOf(QUEUE), ...processes.map(keyOf))
  return texts.flatMap((text, i) => {
    const snapshot = parse(text)
    return snapshot === null ? [] : [{ process: i === 0 ? null : (processes[i - 1] ?? null), snapshot }]
  })
}

/** What another version wrote is no reason to fail. */
function parse(text: string | null): Snapshot | null {
  try {
    const read: unknown = text === null ? null : JSON.parse(text)
    return typeof read === 'object' ? read : null
  } catch {
    return null
  }
}
