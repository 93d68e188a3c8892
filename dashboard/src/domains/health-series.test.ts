import { assert } from 'chai'
import { completeDays, rateOf, sumCounts } from './health-series.ts'

describe('health of a domain', () => {
  it('has each day, also those without mail', () => {
    const rows = [{ start: '2026-01-02T00:00:00.000Z', counts: { sent: 3, delivered: 2 } }]
    assert.deepEqual(
      completeDays(rows, '2026-01-01T00:00:00.000Z', 3).map(({ start, counts }) => [start.slice(0, 10), counts.sent]),
      [
        ['2026-01-01', 0],
        ['2026-01-02', 3],
        ['2026-01-03', 0],
      ],
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
