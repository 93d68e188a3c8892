/** How many tokens of a rate to ask for. */
import { bucketOf, type Rate } from '#src/shaping/rate-syntax.ts'
import type { TokenAsk } from './quota-share.ts'

interface Tokens {
  readonly demand: number
  readonly has: number
  /** The part of the rate that is left after replies slowed it down, 0 to 1. */
  readonly slowed: number
}

export function tokensFor(rate: Rate | null, { demand, has, slowed }: Tokens): TokenAsk {
  if (rate === null) return { wanted: 0, bucket: null }
  const bucket = bucketOf({ count: Math.max(1, Math.floor(rate.count * slowed)), perMs: rate.perMs })
  return { wanted: Math.max(0, Math.min(demand, bucket.size) - Math.max(0, has)), bucket }
}
