import { assert } from 'chai'
import fc from 'fast-check'
import {
  DOMAIN_STATES,
  type DomainStatus,
  evaluateStatus,
  type OwnershipProof,
  type StatusSnapshot,
} from './domain-status.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const NOW = 1_900_000_000_000

const snapshot = (status: DomainStatus, ageMs: number, more: Partial<StatusSnapshot> = {}): StatusSnapshot => ({
  status,
  statusSinceMs: NOW - ageMs,
  missingSinceMs: null,
  isTrusted: false,
  ...more,
})

type Row = readonly [
  what: string,
  snapshot: StatusSnapshot,
  proof: OwnershipProof,
  status: DomainStatus,
  dueInMs: number | null,
]
const ROWS: readonly Row[] = [
  ['a new domain is checked again after 2 minutes', snapshot('pending', 0), 'absent', 'pending', 2 * MINUTE],
  [
    'a pending domain is checked less and less often',
    snapshot('pending', 10 * MINUTE),
    'absent',
    'pending',
    5 * MINUTE,
  ],
  ['but at least once an hour', snapshot('pending', 20 * HOUR), 'absent', 'pending', HOUR],
  ['a pending domain fails after 72 hours', snapshot('pending', 72 * HOUR), 'absent', 'failed', 24 * HOUR],
  ['a published DKIM record verifies a domain', snapshot('pending', HOUR), 'proven', 'verified', 24 * HOUR],
  ['but not if another workspace holds the name', snapshot('pending', HOUR), 'taken', 'pending', 30 * MINUTE],
  [
    'a pending domain stays pending while DNS does not answer',
    snapshot('pending', HOUR),
    'unknown',
    'pending',
    30 * MINUTE,
  ],
  ['a verified domain is checked once a day', snapshot('verified', 90 * HOUR), 'proven', 'verified', 24 * HOUR],
  [
    'a verified domain is checked hourly while DNS does not answer',
    snapshot('verified', 90 * HOUR),
    'unknown',
    'verified',
    HOUR,
  ],
  [
    'a missing record is checked again after 10 minutes',
    snapshot('verified', 90 * HOUR),
    'absent',
    'verified',
    10 * MINUTE,
  ],
  [
    'a record missing twice within a minute changes nothing',
    snapshot('verified', 90 * HOUR, { missingSinceMs: NOW - MINUTE }),
    'absent',
    'verified',
    10 * MINUTE,
  ],
  [
    'a record missing twice degrades the domain',
    snapshot('verified', 90 * HOUR, { missingSinceMs: NOW - 10 * MINUTE }),
    'absent',
    'degraded',
    2 * MINUTE,
  ],
  [
    'a missing record followed by no answer changes nothing',
    snapshot('verified', 90 * HOUR, { missingSinceMs: NOW - 10 * MINUTE }),
    'unknown',
    'verified',
    HOUR,
  ],
  ['a degraded domain sends for 24 hours', snapshot('degraded', 23 * HOUR), 'absent', 'degraded', HOUR],
  ['a degraded domain fails after 24 hours', snapshot('degraded', 24 * HOUR), 'absent', 'failed', 24 * HOUR],
  [
    'a degraded domain does not fail while DNS does not answer',
    snapshot('degraded', 24 * HOUR),
    'unknown',
    'degraded',
    HOUR,
  ],
  ['a published record restores a degraded domain', snapshot('degraded', 5 * HOUR), 'proven', 'verified', 24 * HOUR],
  ['a published record restores a failed domain', snapshot('failed', 500 * HOUR), 'proven', 'verified', 24 * HOUR],
  ['a failed domain is checked once a day', snapshot('failed', HOUR), 'absent', 'failed', 24 * HOUR],
  ['a failed domain is checked for 30 days', snapshot('failed', 30 * 24 * HOUR), 'absent', 'failed', null],
  [
    'a domain that the operator trusts stays verified, whatever DNS says',
    snapshot('verified', HOUR, { isTrusted: true }),
    'absent',
    'verified',
    24 * HOUR,
  ],
]

describe('the status of a domain', () => {
  for (const [what, before, proof, status, dueInMs] of ROWS) {
    it(what, () => {
      const decision = evaluateStatus(before, proof, NOW)
      assert.deepEqual([decision.status, decision.dueInMs], [status, dueInMs])
    })
  }

  it('DNS that does not answer never makes it worse, except that pending ends after 72 hours', () => {
    const statuses = Object.keys(DOMAIN_STATES) as DomainStatus[]
    fc.assert(
      fc.property(fc.constantFrom(...statuses), fc.nat(1e10), fc.option(fc.nat(1e10)), (status, ageMs, missingMs) => {
        const before = snapshot(status, ageMs, { missingSinceMs: missingMs === null ? null : NOW - missingMs })
        const after = evaluateStatus(before, 'unknown', NOW)
        assert.ok(after.status === status || (status === 'pending' && ageMs >= 72 * HOUR))
        if (status === 'verified') assert.strictEqual(after.missingSinceMs, before.missingSinceMs)
      }),
    )
  })

  it('a verified domain needs two checks without a record to become worse', () => {
    const checks = fc.array(
      fc.record({ proof: fc.constantFrom<OwnershipProof>('proven', 'unknown', 'absent'), afterMs: fc.nat(2 * HOUR) }),
      { maxLength: 12 },
    )
    fc.assert(
      fc.property(checks, (all) => {
        let now = NOW
        let current = snapshot('verified', HOUR)
        let absent = 0
        for (const { proof, afterMs } of all) {
          now += afterMs
          const decision = evaluateStatus(current, proof, now)
          absent = proof === 'proven' ? 0 : absent + (proof === 'absent' ? 1 : 0)
          if (decision.status !== 'verified') return assert.ok(absent >= 2)
          current = { ...current, missingSinceMs: decision.missingSinceMs }
        }
        return undefined
      }),
    )
  })
})
