/**
 * Limits attempts at actions that need no key, such as submitting a public form. A window starts with the first
 * attempt. Attempts are counted in Redis and shared by all processes. If Redis is unavailable or too slow, each process
 * uses its own count, and nothing fails. Callers hash names that identify a person, so the keys are no list of
 * addresses.
 */
import type { Clock } from '#src/platform/clock.ts'
import { isRedisReady, type Redis } from '#src/stores/redis.ts'

export interface AttemptLimit {
  readonly max: number
  readonly windowMs: number
}

export interface AttemptLimiter {
  /** Counts one attempt. Returns null if it is allowed, else the whole seconds until the next one is, at least 1. */
  consume(name: string, limit: AttemptLimit): Promise<number | null>
  /** The same without counting an attempt, for actions that only count when they fail. */
  peek(name: string, limit: AttemptLimit): Promise<number | null>
  /** Clears the count, after a success that proves the attempts before it were honest. */
  forget(name: string): Promise<void>
}

const REDIS_TIMEOUT_MS = 500
/** Most names counted without Redis; beyond that the local counts are cleared. */
const MAX_LOCAL = 50_000

interface AttemptCount {
  readonly made: number
  readonly leftMs: number
}

export function createAttemptLimiter(redis: Redis, clock: Clock): AttemptLimiter {
  const local = new Map<string, { made: number; readonly endMs: number }>()

  function countLocal(name: string, windowMs: number): AttemptCount {
    const now = clock.now()
    const known = local.get(name)
    if (known !== undefined && known.endMs > now) return { made: ++known.made, leftMs: known.endMs - now }
    if (local.size >= MAX_LOCAL) local.clear()
    local.set(name, { made: 1, endMs: now + windowMs })
    return { made: 1, leftMs: windowMs }
  }

  function readLocal(name: string): AttemptCount {
    const known = local.get(name)
    return known === undefined ? NONE : { made: known.made, leftMs: known.endMs - clock.now() }
  }

  return {
    async consume(name, { max, windowMs }) {
      const { made, leftMs } = (await countShared(redis, name, windowMs)) ?? countLocal(name, windowMs)
      return made <= max ? null : wholeSeconds(leftMs)
    },
    async peek(name, { max }) {
      const { made, leftMs } = (await readShared(redis, name, max)) ?? readLocal(name)
      return made < max || leftMs <= 0 ? null : wholeSeconds(leftMs)
    },
    async forget(name) {
      local.delete(name)
      if (isRedisReady(redis)) await withTimeout(redis.del(keyOf(name)))
    },
  }
}

const NONE: AttemptCount = { made: 0, leftMs: 0 }

function wholeSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000))
}

function keyOf(name: string): string {
  return `mailstead:attempts:{${name}}`
}

/** Null if Redis is unavailable. */
async function countShared(redis: Redis, name: string, windowMs: number): Promise<AttemptCount | null> {
  if (!isRedisReady(redis)) return null
  const key = keyOf(name)
  // not PEXPIRE NX, which needs Redis 7
  const replies = await withTimeout(redis.multi().set(key, 0, 'PX', windowMs, 'NX').incr(key).pttl(key).exec())
  const [made, leftMs] = [replies?.[1]?.[1], replies?.[2]?.[1]]
  return typeof made === 'number' && typeof leftMs === 'number' ? { made, leftMs } : null
}

/** Null if Redis is unavailable. Asks for the time only if it is needed: nearly all names have few attempts. */
async function readShared(redis: Redis, name: string, max: number): Promise<AttemptCount | null> {
  if (!isRedisReady(redis)) return null
  const made = await withTimeout(redis.get(keyOf(name)).then((count) => Number(count ?? 0)))
  if (made === null || made < max) return made === null ? null : { made, leftMs: 0 }
  const leftMs = await withTimeout(redis.pttl(keyOf(name)))
  return leftMs === null ? null : { made, leftMs }
}

/** Null after an error, and after the timeout. Not with an AbortController, which costs more than the command. */
function withTimeout<T>(reply: Promise<T>): Promise<T | null> {
  const { promise, resolve } = Promise.withResolvers<T | null>()
  const timer = setTimeout(resolve, REDIS_TIMEOUT_MS, null)
  const end = (value: T | null): void => {
    clearTimeout(timer)
    resolve(value)
  }
  reply.then(end, () => end(null))
  return promise
}
