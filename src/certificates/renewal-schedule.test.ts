import { assert } from 'chai'
import fc from 'fast-check'
import { renewalTime, retryDelayMs } from './renewal-schedule.ts'

const DAY_MS = 86_400_000

describe('when a certificate is requested next', () => {
  for (const [days, least, most] of [
    [90, 55, 60],
    [47, 28, 32],
    [6, 3, 4],
  ] as const)
    it(`one of ${days} days: after ${least} to ${most} days`, () => {
      fc.assert(
        fc.property(fc.double({ min: 0, max: 0.999, noNaN: true }), (random) => {
          const after = renewalTime(new Date(0), new Date(days * DAY_MS), random).getTime() / DAY_MS
          assert.isAtLeast(after, least)
          assert.isAtMost(after, most)
        }),
      )
    })
  it('after failures: later each time, at most once a day', () => {
    const minutes = [1, 2, 3, 4, 5, 6, 7, 8, 100].map((failures) => retryDelayMs(failures, 1) / 60_000)
    for (const [i, least] of [0.9, 4.5, 18, 54, 216, 648, 1296, 1296, 1296].entries()) {
      assert.isAtLeast(minutes[i] ?? 0, least)
      assert.isAtMost(minutes[i] ?? 0, least / 0.9 + least / 4)
    }
  })
})
