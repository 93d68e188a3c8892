/**
 * Counts the requests of each workspace in windows of 10 seconds. The counts are shared by all processes through Redis,
 * without a round trip per request: about ten times a second a process adds its new requests to the shared counter and
 * reads the total. Between two exchanges the limit can be exceeded by the requests of other processes: it limits load,
 * it is not an exact account.
 *
 * If Redis is unavailable, each process continues with its own count. Nothing here ever fails a request.
 */
import type { Clock } from '#src/platform/clock.ts'
import { isRedisReady, type Redis } from '#src/stores/redis.ts'

const WINDOW_MS = 10_000
const EXCHANGE_MS = 100

export interface RateLimitResult {
  readonly isAllowed: boolean
  /** Requests allowed in one window; null = unlimited. */
  readonly limit: number | null
  /** 0 if there is no limit. */
  readonly remaining: number
  /** When the window ends, in seconds since the epoch. */
  readonly resetAt: number
  /** Whole seconds until then, at least 1. */
  readonly retryAfter: number
}

export interface RequestRateLimiter {
  /**
   * Counts one request of the workspace and decides whether it is allowed; `perSecond` null = unlimited. A rejected
   * request is not counted.
   */
  consume(workspaceId: string, perSecond: number | null): RateLimitResult
  /** Adds the unshared counts to Redis and stops. */
  stop(): Promise<void>
}

interface WindowCount {
  /** Known requests of all processes in the window. */
  total: number
  /** Requests of this process that are not yet added to the shared counter. */
  unshared: number
}

export function createRequestRateLimiter(redis: Redis, clock: Clock): RequestRateLimiter {
  let window = -1
  let counts = new Map<string, WindowCount>()
  let isExchanging = false

  function countOf(workspaceId: string, now: number): WindowCount {
    const current = Math.floor(now / WINDOW_MS)
    if (current !== window) {
      window = current
      counts = new Map()
    }
    const known = counts.get(workspaceId)
    if (known !== undefined) return known
    const fresh = { total: 0, unshared: 0 }
    counts.set(workspaceId, fresh)
    return fresh
  }

  async function exchange(): Promise<void> {
    if (isExchanging || !isRedisReady(redis)) return
    isExchanging = true
    try {
      await share(
        redis,
        window,
        [...counts].filter(([, count]) => count.unshared > 0),
      )
    } finally {
      isExchanging = false
    }
  }

  const timer = setInterval(() => void exchange(), EXCHANGE_MS).unref()

  return {
    consume(workspaceId, perSecond) {
      const now = clock.now()
      const count = countOf(workspaceId, now)
      const limit = perSecond === null ? null : Math.max(1, Math.floor((perSecond * WINDOW_MS) / 1000))
      const isAllowed = limit === null || count.total < limit
      if (isAllowed) {
        count.total++
        count.unshared++
      }
      const endMs = (window + 1) * WINDOW_MS
      return {
        isAllowed,
        limit,
        remaining: limit === null ? 0 : Math.max(0, limit - count.total),
        resetAt: endMs / 1000,
        retryAfter: Math.max(1, Math.ceil((endMs - now) / 1000)),
      }
    },
    async stop() {
      clearInterval(timer)
      await exchange()
    },
  }
}

/**
 * One pipeline for all workspaces. A count that could not be added stays unshared and is added with the next exchange.
 */
async function share(redis: Redis, window: number, counts: readonly (readonly [string, WindowCount])[]): Promise<void> {
  if (counts.length === 0) return
  const pipeline = redis.pipeline()
  const given = counts.map(([workspaceId, count]) => {
    const key = `mailstead:rate:{${workspaceId}}:${window}`
    pipeline.incrby(key, count.unshared).pexpire(key, 2 * WINDOW_MS)
    return { count, amount: count.unshared }
  })
  const replies = await pipeline.exec().catch(() => null)
  for (const [i, { count, amount }] of given.entries()) {
    const [error, shared] = replies?.[2 * i] ?? [new Error('Redis is unavailable'), null]
    if (error !== null || typeof shared !== 'number') continue
    count.unshared -= amount
    count.total = shared + count.unshared
  }
}
