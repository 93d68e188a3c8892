/**
 * How often something may be tried that costs nothing to try: a form without a key. Windows begin with the first attempt and are counted in
 * Redis, shared by all processes. Redis away, or slower than a person waits: each process goes by its own count, and nothing fails.
 * Names of attempts are hashed by the caller where they are somebody's: what is counted here is no list of addresses.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '#src/clock.ts'
import { isRedisReady, type Redis } from '#src/redis.ts'

export interface AttemptLimit {
  readonly max: number
  readonly windowMs: number
}

export interface Attempts {
  /** Counts one attempt. Whole seconds until the next may be made, at least 1; null when this one may. */
  take(name: string, limit: AttemptLimit): Promise<number | null>
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

  return {
    async take(name, { max, windowMs }) {
      const { made, leftMs } = (await countShared(redis, name, windowMs)) ?? countOwn(name, windowMs)
      return made <= max ? null : Math.max(1, Math.ceil(leftMs / 1000))
    },
  }
}

/** Null when Redis cannot be asked now. */
async function countShared(redis: Redis, name: string, windowMs: number): Promise<Count | null> {
  if (!isRedisReady(redis)) return null
  const key = `mailstead:attempts:{${name}}`
  // not PEXPIRE NX: that came with Redis 7
  const asked = redis.multi().set(key, 0, 'PX', windowMs, 'NX').incr(key).pttl(key).exec().catch(() => null)
  const patience = new AbortController()
  const replies = await Promise.race([asked, sleep(PATIENCE_MS, null, { signal: patience.signal }).catch(() => null)])
  patience.abort()
  const [made, leftMs] = [replies?.[1]?.[1], replies?.[2]?.[1]]
  return typeof made === 'number' && typeof leftMs === 'number' ? { made, leftMs } : null
}
