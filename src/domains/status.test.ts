import { assert } from 'chai'
import fc from 'fast-check'
import { DOMAIN_STATES, type DomainStatus, judgeStanding, type Proof, type Standing } from './status.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const NOW = 1_900_000_000_000

const standing = (status: DomainStatus, ageMs: number, more: Partial<Standing> = {}): Standing => ({
  status,
  statusSinceMs: NOW - ageMs,
  missingSinceMs: null,
  isTrusted: false,
  ...more,
})

type Row = readonly [what: string, standing: Standing, proof: Proof, status: DomainStatus, dueInMs: number | null]
const ROWS: readonly Row[] = [
  ['a new domain is looked at again after 2 minutes', standing('pending', 0), 'absent', 'pending', 2 * MINUTE],
  ['then ever more seldom', standing('pending', 10 * MINUTE), 'absent', 'pending', 5 * MINUTE],
  ['up to once an hour', standing('pending', 20 * HOUR), 'absent', 'pending', HOUR],
  ['for 72 hours', standing('pending', 72 * HOUR), 'absent', 'failed', 24 * HOUR],
  ['its record verifies it', standing('pending', HOUR), 'proven', 'verified', 24 * HOUR],
  ['not where another workspace holds the name', standing('pending', HOUR), 'taken', 'pending', 30 * MINUTE],
  ['not where DNS does not answer', standing('pending', HOUR), 'unknown', 'pending', 30 * MINUTE],
  ['a verified domain is looked at once a day', standing('verified', 90 * HOUR), 'proven', 'verified', 24 * HOUR],
  ['sooner when DNS does not answer', standing('verified', 90 * HOUR), 'unknown', 'verified', HOUR],
  ['soon when its record is gone', standing('verified', 90 * HOUR), 'absent', 'verified', 10 * MINUTE],
  [
    'gone twice but at once proves nothing',
    standing('verified', 90 * HOUR, { missingSinceMs: NOW - MINUTE }),
    'absent',
    'verified',
    10 * MINUTE,
  ],
  [
    'gone twice degrades it',
    standing('verified', 90 * HOUR, { missingSinceMs: NOW - 10 * MINUTE }),
    'absent',
    'degraded',
    2 * MINUTE,
  ],
  [
    'gone, then no answer, does not',
    standing('verified', 90 * HOUR, { missingSinceMs: NOW - 10 * MINUTE }),
    'unknown',
    'verified',
    HOUR,
  ],
  ['a degraded domain sends for 24 hours', standing('degraded', 23 * HOUR), 'absent', 'degraded', HOUR],
  ['and then no more', standing('degraded', 24 * HOUR), 'absent', 'failed', 24 * HOUR],
  ['not on the ground of a silence', standing('degraded', 24 * HOUR), 'unknown', 'degraded', HOUR],
  ['its record brings it back', standing('degraded', 5 * HOUR), 'proven', 'verified', 24 * HOUR],
  ['also when it has failed', standing('failed', 500 * HOUR), 'proven', 'verified', 24 * HOUR],
  ['a failed domain is looked at once a day', standing('failed', HOUR), 'absent', 'failed', 24 * HOUR],
  ['for 30 days', standing('failed', 30 * 24 * HOUR), 'absent', 'failed', null],
  [
    "the operator's word stands, whatever DNS says",
    standing('verified', HOUR, { isTrusted: true }),
    'absent',
    'verified',
    24 * HOUR,
  ],
]

describe('the status of a domain', () => {
  for (const [what, before, proof, status, dueInMs] of ROWS) {
    it(what, () => {
      const verdict = judgeStanding(before, proof, NOW)
      assert.deepEqual([verdict.status, verdict.dueInMs], [status, dueInMs])
    })
  }

  it('is never changed for the worse by DNS that does not answer, but that waiting ends', () => {
    const statuses = Object.keys(DOMAIN_STATES) as DomainStatus[]
    fc.assert(
      fc.property(fc.constantFrom(...statuses), fc.nat(1e10), fc.option(fc.nat(1e10)), (status, ageMs, missingMs) => {
        const before = standing(status, ageMs, { missingSinceMs: missingMs === null ? null : NOW - missingMs })
        const after = judgeStanding(before, 'unknown', NOW)
        assert.ok(after.status === status || (status === 'pending' && ageMs >= 72 * HOUR))
        if (status === 'verified') assert.strictEqual(after.missingSinceMs, before.missingSinceMs)
      }),
    )
  })

  it('of a verified domain needs two looks to become worse', () => {
    const looks = fc.array(
      fc.record({ proof: fc.constantFrom<Proof>('proven', 'unknown', 'absent'), afterMs: fc.nat(2 * HOUR) }),
      { maxLength: 12 },
    )
    fc.assert(
      fc.property(looks, (all) => {
        let now = NOW
        let current = standing('verified', HOUR)
        let absent = 0
        for (const { proof, afterMs } of all) {
          now += afterMs
          const verdict = judgeStanding(current, proof, now)
          absent = proof === 'proven' ? 0 : absent + (proof === 'absent' ? 1 : 0)
          if (verdict.status !== 'verified') return assert.ok(absent >= 2)
          current = { ...current, missingSinceMs: verdict.missingSinceMs }
        }
        return undefined
      }),
    )
  })
})
