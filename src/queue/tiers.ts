/**
 * The priority tiers, highest first. `scheduled` is not a tier: a scheduled message enters one of these when due.
 * Delays and ages are before RETRY_SCALE.
 */
export interface TierRow {
  /** Name of its queue in API responses and the specification. */
  readonly queue: 'instant' | 'high' | 'async' | 'bulk'
  readonly estimatedDelivery: string
  /** Attempts after the first; only replies to this message are counted. */
  readonly retries: number
  /** Delay before the next attempt, by attempts so far; the last one repeats. */
  readonly backoffSeconds: readonly number[]
  /** Expires at this age, counted from the due time, however few attempts were made. */
  readonly maxAgeSeconds: number
  /** After an unknown outcome: send again (a lost login code is worse than two) or assume it was sent. */
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
