/**
 * The headers of the two limits of a plan: the request rate, in every response to a valid key, and the monthly quota,
 * in the responses to sends. A plan without a limit has the word `unlimited` in place of a number, and no reset.
 */
import { nextMonth } from '#src/workspaces/usage.ts'
import type { RateLimitResult } from '#src/rate-limits/request-rate.ts'

type LimitHeaders = Readonly<Record<string, string>>

export function rateHeaders({ limit, remaining, resetAt }: RateLimitResult): LimitHeaders {
  return limitHeaders('X-RateLimit', { limit, used: limit === null ? 0 : limit - remaining, resetAt })
}

/** The quota of a plan, and the recipients of this month that count. */
export interface QuotaState {
  /** Null: unlimited. */
  readonly quota: number | null
  readonly used: number
}

export function quotaHeaders({ quota, used }: QuotaState, now: Date): LimitHeaders {
  return limitHeaders('X-Quota', { limit: quota, used, resetAt: nextMonth(now).getTime() / 1000 })
}

interface Limit {
  readonly limit: number | null
  readonly used: number
  /** Seconds since the epoch. */
  readonly resetAt: number
}

function limitHeaders(prefix: string, { limit, used, resetAt }: Limit): LimitHeaders {
  if (limit === null) return { [`${prefix}-Limit`]: 'unlimited', [`${prefix}-Remaining`]: 'unlimited' }
  return {
    [`${prefix}-Limit`]: String(limit),
    [`${prefix}-Remaining`]: String(Math.max(0, limit - used)),
    [`${prefix}-Reset`]: String(resetAt),
  }
}
