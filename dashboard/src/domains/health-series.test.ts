import { assert } from 'chai'
import { completeDays, rateOf, sumCounts } from './health-series.ts'

describe('health of a domain', () => {
  it('has each day, also those without mail', () => {
    const rows = [{ start: '2026-10-24T22:00:00.000Z', counts: { sent: 3, delivered: 2 } }]
    // midnights of Berlin, around a change of the clocks
    const starts = ['2026-10-23T22:00:00.000Z', '2026-10-24T22:00:00.000Z', '2026-10-25T23:00:00.000Z']
    assert.deepEqual(
      completeDays(rows, starts).map(({ start, counts }) => [start, counts.sent]),
      starts.map((start, day) => [start, day === 1 ? 3 : 0]),
    )
  })
  it('adds up counters that may be missing', () => {
    assert.deepEqual(sumCounts([{ sent: 1 }, { sent: 2, complained: 1 }]), {
      sent: 3,
      delivered: 0,
      bounced_hard: 0,
      bounced_soft: 0,
      complained: 1,
    })
  })
  it('has no rate of nothing, and none above 1', () => {
    assert.deepEqual([rateOf(1, 0), rateOf(1, 4), rateOf(5, 4)], [null, 0.25, 1])
  })
})
