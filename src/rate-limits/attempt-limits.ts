/**
 * How often something may be tried that costs nothing to try: a form without a key. Windows begin with the first attempt and are counted in
 * Redis, shared by all processes. Redis away, or slower than a person waits: each process goes by its own count, and nothing fails.
 * Names of attempts are hashed by the caller where they are somebody's: what is counted here is no list of addresses.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '#src/platform/clock.ts'
import { isRedisReady, type Redis } from '#src/stores/redis.ts'

export interface AttemptLimit {
  readonly max: number
  readonly windowMs: number
}

export interface Attempts {
  /** Counts one attempt. Whole seconds until the next may be made, at least 1; null when this one may. */
  take(name: string, limit: AttemptLimit): Promise<number | null>
  /** The same without counting one: for what is only counted when it fails. Null when one may be made. */
  look(name: string, limit: AttemptLimit): Promise<number | null>
}

const PATIENCE_MS = 500
/** Names counted without Redis; more, and the count begins anew. */
const MAX_OWN = 50_000

interface Count {
  readonly made: number
  readonly leftMs: number
}

export function createAttempts(redis: Redis, clock: Clock): Attempts {
  const own = new Map<string, { made: number; readonly endMs: number }>()

  function countOwn(name: string, windowMs: number): Count {
    const now = clock.now()
    const known = own.get(name)
    if (known !== undefined && known.endMs > now) return { made: ++known.made, leftMs: known.endMs - now }
    if (own.size >= MAX_OWN) own.clear()
    own.set(name, { made: 1, endMs: now + windowMs })
    return { made: 1, leftMs: windowMs }
  }

  function readOwn(name: string): Count {
    const known = own.get(name)
    return known === undefined ? NONE : { made: known.made, leftMs: known.endMs - clock.now() }
  }

  return {
    async take(name, { max, windowMs }) {
      const { made, leftMs } = (await countShared(redis, name, windowMs)) ?? countOwn(name, windowMs)
      return made <= max ? null : wholeSeconds(leftMs)
    },
    async look(name, { max }) {
      const { made, leftMs } = (await readShared(redis, name)) ?? readOwn(name)
      return made < max || leftMs <= 0 ? null : wholeSeconds(leftMs)
    },
  }
}

const NONE: Count = { made: 0, leftMs: 0 }

function wholeSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000))
}

function keyOf(name: string): string {
  return `mailstead:attempts:{${name}}`
}

/** Null when Redis cannot be asked now. */
async function countShared(redis: Redis, name: string, windowMs: number): Promise<Count | null> {
  if (!isRedisReady(redis)) return null
  const key = keyOf(name)
  // not PEXPIRE NX: that came with Redis 7
  const replies = await inTime(redis.multi().set(key, 0, 'PX', windowMs, 'NX').incr(key).pttl(key).exec())
  const [made, leftMs] = [replies?.[1]?.[1], replies?.[2]?.[1]]
  return typeof made === 'number' && typeof leftMs === 'number' ? { made, leftMs } : null
}

async function readShared(redis: Redis, name: string): Promise<Count | null> {
  if (!isRedisReady(redis)) return null
  const replies = await inTime(redis.multi().get(keyOf(name)).pttl(keyOf(name)).exec())
  const [made, leftMs] = [replies?.[0]?.[1], replies?.[1]?.[1]]
  return typeof leftMs === 'number' ? { made: Number(made ?? 0), leftMs } : null
}

async function inTime<T>(asked: Promise<T>): Promise<T | null> {
  const patience = new AbortController()
  const answer = await Promise.race([
    asked.catch(() => null),
    sleep(PATIENCE_MS, null, { signal: patience.signal }).catch(() => null),
  ])
  patience.abort()
  return answer
}
