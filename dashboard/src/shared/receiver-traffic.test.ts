import { assert } from 'chai'
import { fillIntervals, shareOf } from './receiver-traffic.ts'

const traffic = { sent: 3, delivered: 2, deferred: 4, bounced_hard: 1, bounced_soft: 0, failed: 0, complained: 0 }

describe('the traffic of a receiver', () => {
  it('has no share of nothing', () => {
    assert.isNull(shareOf(0, 0))
    assert.strictEqual(shareOf(1, 4), 0.25)
  })

  it('has an interval for each hour, with zeros where the API has none', () => {
    const filled = fillIntervals(
      [{ start: '2026-11-26T13:00:00.000Z', traffic }],
      'hour',
      Date.UTC(2026, 10, 26, 14, 20),
    )
    assert.strictEqual(filled.length, 24)
    assert.strictEqual(filled.at(-1)?.start, '2026-11-26T14:00:00.000Z')
    assert.strictEqual(filled.at(-1)?.traffic.sent, 0)
    assert.deepEqual(filled.at(-2)?.traffic, traffic)
    assert.strictEqual(filled[0]?.start, '2026-11-25T15:00:00.000Z')
  })

  it('has seven days', () => {
    const filled = fillIntervals([{ start: '2026-11-20T00:00:00.000Z', traffic }], 'day', Date.UTC(2026, 10, 26, 14))
    assert.strictEqual(filled.length, 7)
    assert.deepEqual(filled[0]?.traffic, traffic)
  })
})
