/**
 * The status of a sending domain and what a look at its DNS makes of it. One table of states, one function of rules; `check-result.ts`
 * carries the verdict out. Only what DNS has answered counts against a domain, and for a verified one only when it was so twice. Pure.
 */

export const DOMAIN_STATES = {
  pending: 'waits for its DKIM record; checked after 2 minutes, then less and less often, for 72 hours',
  verified: 'may send; checked once a day',
  degraded: 'was verified, but its DKIM record is gone: may send for 24 more hours',
  failed:
    'may not send: no DKIM record for 72 hours, or for 24 hours after it disappeared; ' +
    'the next check that finds it restores the domain',
} as const
export type DomainStatus = keyof typeof DOMAIN_STATES

/** `taken`: the record is there, but another workspace holds the domain. */
export type Proof = 'proven' | 'absent' | 'unknown' | 'taken'

export interface Standing {
  readonly status: DomainStatus
  /** Epoch ms. */
  readonly statusSinceMs: number
  /** Verified: since when its key has not been in DNS; epoch ms. */
  readonly missingSinceMs: number | null
  /** By the operator's word: DNS changes nothing. */
  readonly isTrusted: boolean
}

export interface Verdict {
  readonly status: DomainStatus
  readonly missingSinceMs: number | null
  /** Until the next look, before jitter; null: only when asked. */
  readonly dueInMs: number | null
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
/** Before DNS is looked at for the first time. */
export const FIRST_WAIT_MS = 2 * MINUTE_MS
const LONGEST_WAIT_MS = HOUR_MS
const PENDING_MS = 72 * HOUR_MS
const DEGRADED_MS = DAY_MS
/** A failed domain is looked at by itself for so long. */
const FAILED_MS = 30 * DAY_MS
/** A second look that finds nothing must be so long after the first, */
const CERTAIN_MS = 5 * MINUTE_MS
/** and comes after this. */
const SECOND_LOOK_MS = 10 * MINUTE_MS

/** Half as long again each time: a wait is half of the time that has passed. */
export function growingWaitMs(ageMs: number): number {
  return Math.min(LONGEST_WAIT_MS, Math.max(FIRST_WAIT_MS, ageMs / 2))
}

/** The rules, by status. */
const RULES: Readonly<Record<DomainStatus, (standing: Standing, proof: Proof, nowMs: number) => Verdict>> = {
  pending: ({ statusSinceMs }, _proof, nowMs) => {
    const ageMs = nowMs - statusSinceMs
    return ageMs >= PENDING_MS ? turned('failed', DAY_MS) : turned('pending', growingWaitMs(ageMs))
  },
  verified: ({ missingSinceMs }, proof, nowMs) => {
    if (proof !== 'absent') return { status: 'verified', missingSinceMs, dueInMs: HOUR_MS }
    if (missingSinceMs === null) return { status: 'verified', missingSinceMs: nowMs, dueInMs: SECOND_LOOK_MS }
    const isCertain = nowMs - missingSinceMs >= CERTAIN_MS
    return isCertain
      ? turned('degraded', FIRST_WAIT_MS)
      : { status: 'verified', missingSinceMs, dueInMs: SECOND_LOOK_MS }
  },
  degraded: ({ statusSinceMs }, proof, nowMs) => {
    const ageMs = nowMs - statusSinceMs
    return ageMs >= DEGRADED_MS && proof === 'absent'
      ? turned('failed', DAY_MS)
      : turned('degraded', growingWaitMs(ageMs))
  },
  failed: ({ statusSinceMs }, _proof, nowMs) => turned('failed', nowMs - statusSinceMs >= FAILED_MS ? null : DAY_MS),
}

/** What the domain is after a look that found this. */
export function judgeStanding(standing: Standing, proof: Proof, nowMs: number): Verdict {
  if (standing.isTrusted) return turned(standing.status, DAY_MS)
  return proof === 'proven' ? turned('verified', DAY_MS) : RULES[standing.status](standing, proof, nowMs)
}

function turned(status: DomainStatus, dueInMs: number | null): Verdict {
  return { status, missingSinceMs: null, dueInMs }
}
