import { assert } from 'chai'
import { isPeriodName, PERIOD_NAMES, periodUntil } from './period.ts'

function inZone<T>(zone: string, run: () => T): T {
  const before = process.env['TZ']
  process.env['TZ'] = zone
  try {
    return run()
  } finally {
    if (before === undefined) delete process.env['TZ']
    else process.env['TZ'] = before
  }
}

describe('dashboard: periods of statistics', () => {
  it('24 hours begin with whole hours, and compare with the same time of the day before', () => {
    const { starts, previous } = periodUntil(new Date('2026-11-26T14:20:00Z'), '24h')
    assert.lengthOf(starts, 24)
    assert.deepEqual([starts[0], starts[23]], ['2026-11-25T15:00:00.000Z', '2026-11-26T14:00:00.000Z'])
    assert.deepEqual(previous, {
      from: '2026-11-24T15:00:00.000Z',
      to: '2026-11-25T14:20:00.000Z',
      interval: 'hour',
    })
  })

  it('days begin at midnight of the reader, also around a change of the clocks', () => {
    const { starts, previous } = inZone('Europe/Berlin', () => periodUntil(new Date('2026-10-27T08:00:00Z'), '7d'))
    assert.deepEqual(starts.slice(3, 6), [
      '2026-10-23T22:00:00.000Z',
      '2026-10-24T22:00:00.000Z',
      '2026-10-25T23:00:00.000Z',
    ])
    assert.strictEqual(previous.to, '2026-10-20T07:00:00.000Z')
  })

  it('weeks begin on Monday', () => {
    const { starts } = inZone('UTC', () => periodUntil(new Date('2026-11-29T23:00:00Z'), '12m'))
    assert.lengthOf(starts, 52)
    assert.strictEqual(starts.at(-1), '2026-11-23T00:00:00.000Z')
  })

  for (const name of PERIOD_NAMES)
    it(`${name}: the period before ends before this one begins`, () => {
      const now = new Date('2026-11-26T14:20:00Z')
      const { from, starts, previous } = periodUntil(now, name)
      assert.isBelow(Date.parse(previous.from), Date.parse(previous.to))
      assert.isBelow(Date.parse(previous.to), Date.parse(from) + (name === '12m' ? 7 : 1) * 24 * 3_600_000)
      assert.strictEqual(starts[0], from)
    })

  it('knows its names', () => {
    assert.isTrue(isPeriodName('90d'))
    assert.isFalse(isPeriodName('toString'))
    assert.isFalse(isPeriodName(undefined))
  })
})
