/**
 * The status of a sending domain and how a DNS check changes it: one table of states, one function of rules;
 * `check-result.ts` applies the decision. Only what DNS has answered counts against a domain, and a verified one
 * changes only after two such answers. Pure.
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

/** `taken`: the record is published, but another workspace holds the domain verified. */
export type OwnershipProof = 'proven' | 'absent' | 'unknown' | 'taken'

export interface StatusSnapshot {
  readonly status: DomainStatus
  /** Epoch ms. */
  readonly statusSinceMs: number
  /** Of a verified domain: since when its key has been missing in DNS; epoch ms. */
  readonly missingSinceMs: number | null
  /** Trusted by the operator: DNS changes nothing. */
  readonly isTrusted: boolean
}

export interface StatusDecision {
  readonly status: DomainStatus
  readonly missingSinceMs: number | null
  /** Time until the next check, before jitter; null: only on request. */
  readonly dueInMs: number | null
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
/** Delay of the first check. */
export const FIRST_WAIT_MS = 2 * MINUTE_MS
const LONGEST_WAIT_MS = HOUR_MS
const PENDING_MS = 72 * HOUR_MS
const DEGRADED_MS = DAY_MS
/** How long a failed domain is still checked automatically. */
const FAILED_MS = 30 * DAY_MS
/** A second check that finds nothing counts if it comes at least this long after the first, */
const CONFIRMED_AFTER_MS = 5 * MINUTE_MS
/** and it is scheduled after this time. */
const CONFIRM_CHECK_MS = 10 * MINUTE_MS

/** The wait before the next check: half of the time that has passed, within limits. */
export function growingWaitMs(ageMs: number): number {
  return Math.min(LONGEST_WAIT_MS, Math.max(FIRST_WAIT_MS, ageMs / 2))
}

/** The rules by status, for a check that did not prove ownership. */
const RULES: Readonly<
  Record<DomainStatus, (standing: StatusSnapshot, proof: OwnershipProof, nowMs: number) => StatusDecision>
> = {
  pending: ({ statusSinceMs }, _proof, nowMs) => {
    const ageMs = nowMs - statusSinceMs
    return ageMs >= PENDING_MS ? decision('failed', DAY_MS) : decision('pending', growingWaitMs(ageMs))
  },
  verified: ({ missingSinceMs }, proof, nowMs) => {
    if (proof !== 'absent') return { status: 'verified', missingSinceMs, dueInMs: HOUR_MS }
    if (missingSinceMs === null) return { status: 'verified', missingSinceMs: nowMs, dueInMs: CONFIRM_CHECK_MS }
    const isCertain = nowMs - missingSinceMs >= CONFIRMED_AFTER_MS
    return isCertain
      ? decision('degraded', FIRST_WAIT_MS)
      : { status: 'verified', missingSinceMs, dueInMs: CONFIRM_CHECK_MS }
  },
  degraded: ({ statusSinceMs }, proof, nowMs) => {
    const ageMs = nowMs - statusSinceMs
    return ageMs >= DEGRADED_MS && proof === 'absent'
      ? decision('failed', DAY_MS)
      : decision('degraded', growingWaitMs(ageMs))
  },
  failed: ({ statusSinceMs }, _proof, nowMs) => decision('failed', nowMs - statusSinceMs >= FAILED_MS ? null : DAY_MS),
}

/** The status of the domain after a check. */
export function evaluateStatus(snapshot: StatusSnapshot, proof: OwnershipProof, nowMs: number): StatusDecision {
  if (snapshot.isTrusted) return decision(snapshot.status, DAY_MS)
  return proof === 'proven' ? decision('verified', DAY_MS) : RULES[snapshot.status](snapshot, proof, nowMs)
}

function decision(status: DomainStatus, dueInMs: number | null): StatusDecision {
  return { status, missingSinceMs: null, dueInMs }
}
