import { assert } from 'chai'
import fc from 'fast-check'
import { bucketOf, readDuration, readRate } from './rate-syntax.ts'

describe('rates and durations', () => {
  it('are read as written, or rejected', () => {
    assert.deepEqual(
      [readRate('100/min'), readRate('5 / s'), readRate('0/min'), readRate('5/week'), readRate('-1/s')],
      [{ count: 100, perMs: 60_000 }, { count: 5, perMs: 1000 }, null, null, null],
    )
    assert.deepEqual(
      [readDuration('2h'), readDuration('90 s'), readDuration('0s'), readDuration('soon')],
      [7_200_000, 90_000, null, null],
    )
  })
  it('a bucket never exceeds the rate in any period, and nearly reaches it over a long time', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000 }), (count) => {
        const { size, refillPerMs } = bucketOf({ count, perMs: 1000 })
        assert.ok(size >= 1 && Math.floor(size + refillPerMs * 1000 - 1e-6) <= count)
        assert.ok(refillPerMs * 1000 >= count / 2)
      }),
    )
  })
})
