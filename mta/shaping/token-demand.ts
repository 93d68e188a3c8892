/** How many tokens of a rate limit to request. */
import { bucketOf, type Rate } from '#src/shaping/rate-syntax.ts'
import type { TokenRequest } from './quota-share.ts'

interface TokenState {
  readonly demand: number
  readonly available: number
  /** The part of the rate that replies have left, 0 to 1. */
  readonly remainingRate: number
}

export function tokenRequest(rate: Rate | null, { demand, available, remainingRate }: TokenState): TokenRequest {
  if (rate === null) return { count: 0, bucket: null }
  const bucket = bucketOf({ count: Math.max(1, Math.floor(rate.count * remainingRate)), perMs: rate.perMs })
  return { count: Math.max(0, Math.min(demand, bucket.size) - Math.max(0, available)), bucket }
}
