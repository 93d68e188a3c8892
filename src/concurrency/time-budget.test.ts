import { assert } from 'chai'
import * as fc from 'fast-check'
import { createTimeBudget, type TimeBudget } from './time-budget.ts'

interface Clocked {
  readonly time: TimeBudget
  /** Lets time pass. */
  readonly pass: (ms: number) => void
  /** Work that takes this long. */
  readonly work: (ms: number) => void
}

function clocked(): Clocked {
  let at = 1000
  const time = createTimeBudget({ share: 0.1, burstMs: 20, now: () => at })
  const pass = (ms: number): void => void (at += ms)
  return { time, pass, work: (ms) => time.spend(() => pass(ms)) }
}

describe('a time budget', () => {
  const cases: [what: string, steps: (c: Clocked) => void, isLeft: boolean][] = [
    ['is left at the start', () => undefined, true],
    ['is left after work shorter than the burst', ({ work }) => work(19), true],
    ['is used up by work as long as the burst', ({ work }) => work(20), false],
    ['is left again after a while', ({ work, pass }) => (work(23), pass(31)), true],
    ['pays a debt first', ({ work, pass }) => (work(120), pass(990)), false],
    ['is left after the debt was paid', ({ work, pass }) => (work(120), pass(1010)), true],
    ['adds up to the burst only', ({ work, pass }) => (pass(100_000), work(23)), false],
    ['charges each piece of work', ({ work }) => (work(8), work(8), work(8)), false],
  ]
  for (const [what, steps, isLeft] of cases)
    it(what, () => {
      const c = clocked()
      steps(c)
      assert.strictEqual(c.time.isLeft, isLeft)
    })

  it('returns what the work returns, and charges work that fails', () => {
    const { time, pass } = clocked()
    assert.strictEqual(
      time.spend(() => 'result'),
      'result',
    )
    assert.throws(
      () =>
        time.spend(() => {
          pass(100)
          throw new Error('failed')
        }),
      'failed',
    )
    assert.isFalse(time.isLeft)
  })

  it('bounds work that runs whenever it may', () =>
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(30), fc.nat(5)), { maxLength: 200 }), (steps) => {
        const { time, pass, work } = clocked()
        let [total, worked] = [0, 0]
        for (const [pauseMs, workMs] of steps) {
          pass(pauseMs)
          total += pauseMs
          if (!time.isLeft) continue
          work(workMs)
          total += workMs
          worked += workMs
        }
        assert.isAtMost(worked, 0.1 * total + 20 + 5)
      }),
    ))
})
