/**
 * The five priority tiers, first served first. `scheduled` is not one of them: a scheduled message enters one of these when due.
 * Backoff and ages are before RETRY_SCALE.
 */
export interface TierRow {
  /** The name that answers and the specification use for its queue. */
  readonly queue: 'instant' | 'high' | 'async' | 'bulk'
  readonly estimatedDelivery: string
  /** Tries after the first; only real answers to this message are counted. */
  readonly retries: number
  /** Wait before the next try, by number of tries so far; the last one repeats. */
  readonly backoffSeconds: readonly number[]
  /** Given up at this age, counted from its due time, however few tries there were. */
  readonly maxAgeSeconds: number
  /** What follows a link lost after the final dot: send again (a lost code is worse than two) or take it as sent. */
  readonly afterUnknown: 'try_again' | 'assume_sent'
  readonly unknownWaitSeconds: number
}

const MINUTE = 60
const HOUR = 3600

export const TIERS = {
  instant: {
    queue: 'instant',
    estimatedDelivery: '0-5 seconds',
    retries: 5,
    backoffSeconds: [5, 20, MINUTE, 5 * MINUTE, 15 * MINUTE],
    maxAgeSeconds: HOUR,
    afterUnknown: 'try_again',
    unknownWaitSeconds: 30,
  },
  high: {
    queue: 'high',
    estimatedDelivery: '0-30 seconds',
    retries: 3,
    backoffSeconds: [30, 5 * MINUTE, 30 * MINUTE],
    maxAgeSeconds: 24 * HOUR,
    afterUnknown: 'try_again',
    unknownWaitSeconds: 2 * MINUTE,
  },
  normal: {
    queue: 'async',
    estimatedDelivery: '0-5 minutes',
    retries: 3,
    backoffSeconds: [2 * MINUTE, 15 * MINUTE, 2 * HOUR],
    maxAgeSeconds: 48 * HOUR,
    afterUnknown: 'try_again',
    unknownWaitSeconds: 5 * MINUTE,
  },
  bulk: {
    queue: 'bulk',
    estimatedDelivery: 'when the queue is idle',
    retries: 3,
    backoffSeconds: [10 * MINUTE, HOUR, 4 * HOUR],
    maxAgeSeconds: 72 * HOUR,
    afterUnknown: 'assume_sent',
    unknownWaitSeconds: 5 * MINUTE,
  },
} as const satisfies Record<string, TierRow>

export type Tier = keyof typeof TIERS

/** Highest first. */
export const TIER_NAMES = Object.keys(TIERS) as readonly Tier[]

export function tierRow(tier: Tier): TierRow {
  return TIERS[tier]
}
