import { assert } from 'chai'
import fc from 'fast-check'
import { allowanceOf, nextDayMs, stepOf, type WarmUpDay } from './warm-up.ts'

const SCHEDULE = [50, 100, 200]
const good: WarmUpDay = { day: '2026-03-01', step: 0, sent: 50, throttled: 0, complaints: 0 }

const ROWS: readonly [what: string, last: WarmUpDay | null, today: string, step: number][] = [
  ['no mail went there yet: the first step', null, '2026-03-02', 0],
  ['a good day: one step up', good, '2026-03-02', 1],
  ['half of the allowance is enough for a step up', { ...good, sent: 25 }, '2026-03-02', 1],
  ['less than half is not', { ...good, step: 1, sent: 49 }, '2026-03-02', 1],
  ['too few replies: no change', { ...good, sent: 19 }, '2026-03-02', 0],
  ['too few replies, all throttled: no change', { ...good, step: 2, sent: 19, throttled: 19 }, '2026-03-02', 2],
  ['some throttled: no change', { ...good, throttled: 3 }, '2026-03-02', 0],
  ['a few throttled: one step up', { ...good, throttled: 2 }, '2026-03-02', 1],
  ['many throttled: one step down', { ...good, step: 2, throttled: 10 }, '2026-03-02', 1],
  ['one complaint does not count', { ...good, complaints: 1 }, '2026-03-02', 1],
  ['two complaints in 50: one step down', { ...good, step: 2, complaints: 2 }, '2026-03-02', 1],
  ['two complaints in 1,500: no change', { ...good, step: 2, sent: 1500, complaints: 2 }, '2026-03-02', 2],
  ['two complaints in 5,000: one step up', { ...good, step: 2, sent: 5000, complaints: 2 }, '2026-03-02', 3],
  [
    'complaints about earlier mail, on a day without mail: one step down',
    { ...good, step: 2, sent: 0, complaints: 3 },
    '2026-03-02',
    1,
  ],
  ['never below the first step', { ...good, throttled: 50 }, '2026-03-02', 0],
  ['never beyond the last step', { ...good, step: 3, sent: 900 }, '2026-03-02', 3],
  ['unlimited, and throttled: back to the last step', { ...good, step: 3, sent: 900, throttled: 300 }, '2026-03-02', 2],
  ['six days without mail: no step lost', good, '2026-03-07', 1],
  ['a week without mail: one step lost', { ...good, step: 2, sent: 200 }, '2026-03-08', 2],
  ['a month without mail: the first step', { ...good, step: 3, sent: 200 }, '2026-04-01', 0],
]

describe('the step of a warm-up', () => {
  for (const [what, last, today, step] of ROWS) it(what, () => assert.strictEqual(stepOf(today, last, SCHEDULE), step))

  it('changes by at most one a day, and stays within the schedule', () => {
    const share = fc.double({ min: 0, max: 1, noNaN: true })
    const record = fc.record({
      step: fc.nat({ max: 3 }),
      sent: fc.nat({ max: 1000 }),
      complaints: fc.nat({ max: 20 }),
      share,
    })
    fc.assert(
      fc.property(record, ({ step, sent, complaints, share: throttledShare }) => {
        const next = stepOf(
          '2026-03-02',
          { day: '2026-03-01', step, sent, complaints, throttled: Math.floor(sent * throttledShare) },
          SCHEDULE,
        )
        assert.ok(Math.abs(next - step) <= 1 && next >= 0 && next <= 3)
      }),
    )
  })

  it('is unlimited after the last step', () =>
    assert.deepEqual(
      [0, 2, 3].map((step) => allowanceOf(step, SCHEDULE)),
      [50, 200, null],
    ))
  it('days are UTC', () =>
    assert.strictEqual(nextDayMs(Date.parse('2026-03-01T23:59:59.999Z')), Date.parse('2026-03-02T00:00:00.000Z')))
})
