/**
 * How many requests a workspace makes, over windows of 10 seconds, shared by all processes through Redis without a round trip a request:
 * a process counts by itself and, about ten times a second, adds what is new to the shared counter and learns the total from the answer.
 * Between two exchanges the limit can be overshot by what the other processes took in meanwhile; it is a bound on load, not an account.
 * Redis away: each process goes on with its own count. Nothing here ever fails a request.
 */
import type { Clock } from '#src/platform/clock.ts'
import { isRedisReady, type Redis } from '#src/stores/redis.ts'

const WINDOW_MS = 10_000
const EXCHANGE_MS = 100
/** What an unlimited plan is told: fits a signed 32-bit number of any client. */
const UNLIMITED = 2_147_483_647

export interface RateVerdict {
  readonly isAllowed: boolean
  /** Requests in one window. */
  readonly limit: number
  readonly remaining: number
  /** When the window ends: seconds since the epoch. */
  readonly resetAt: number
  /** Whole seconds until then, at least 1. */
  readonly retryAfter: number
}

export interface RequestRate {
  /** Counts one request of the workspace and judges it; `perSecond` null = unlimited. A refused one is not counted. */
  take(workspaceId: string, perSecond: number | null): RateVerdict
  /** Adds what is not shared yet and forgets the rest. */
  stop(): Promise<void>
}

interface Count {
  /** Known of the whole window, ours included. */
  total: number
  /** Ours, not yet added to the shared counter. */
  unshared: number
}

export function createRequestRate(redis: Redis, clock: Clock): RequestRate {
  let window = -1
  let counts = new Map<string, Count>()
  let isExchanging = false

  function countOf(workspaceId: string, now: number): Count {
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
    take(workspaceId, perSecond) {
      const now = clock.now()
      const count = countOf(workspaceId, now)
      const limit = perSecond === null ? UNLIMITED : Math.max(1, Math.floor((perSecond * WINDOW_MS) / 1000))
      const isAllowed = count.total < limit
      if (isAllowed) {
        count.total++
        count.unshared++
      }
      const endMs = (window + 1) * WINDOW_MS
      return {
        isAllowed,
        limit,
        remaining: Math.max(0, limit - count.total),
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

/** One pipeline for all workspaces; a count that could not be added stays unshared and is tried with the next. */
async function share(redis: Redis, window: number, counts: readonly (readonly [string, Count])[]): Promise<void> {
  if (counts.length === 0) return
  const pipeline = redis.pipeline()
  const given = counts.map(([workspaceId, count]) => {
    const key = `mailstead:rate:{${workspaceId}}:${window}`
    pipeline.incrby(key, count.unshared).pexpire(key, 2 * WINDOW_MS)
    return { count, amount: count.unshared }
  })
  const replies = await pipeline.exec().catch(() => null)
  for (const [i, { count, amount }] of given.entries()) {
    const [error, shared] = replies?.[2 * i] ?? [new Error('Redis is away'), null]
    if (error !== null || typeof shared !== 'number') continue
    count.unshared -= amount
    count.total = shared + count.unshared
  }
}
