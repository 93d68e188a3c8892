import { assert } from 'chai'
import { GOLDEN_RATIO, earliestInstant, instantsByZone } from './send-times.ts'

describe('send times of campaigns', () => {
  it('each zone reaches a local time at its own instant, with its own daylight saving', () => {
    const zones = {
      UTC: 9,
      'Europe/Berlin': 7,
      'Asia/Tokyo': 0,
      'America/New_York': 13,
      'US/Eastern': 13,
      'america/new_york': 13,
      'Etc/GMT+5': 14,
    }
    const moments = instantsByZone('2031-07-01_09:00:00', [...Object.keys(zones), 'Mars/Base', ''])
    assert.deepEqual(
      Object.fromEntries([...moments].map(([zone, at]) => [zone, (at.getTime() - Date.UTC(2031, 6, 1)) / 3_600_000])),
      zones,
    )
  })
  it('a skipped local time is the first instant after the gap', () => {
    assert.strictEqual(
      instantsByZone('2031-03-30_02:30:00', ['Europe/Berlin']).get('Europe/Berlin')?.toISOString(),
      '2031-03-30T01:00:00.000Z',
    )
  })
  it('the earliest zone is 14 hours ahead of UTC', () => {
    assert.strictEqual(earliestInstant('2031-07-01_09:00:00').toISOString(), '2031-06-30T19:00:00.000Z')
  })
  it('a spread is even for any number of recipients', () => {
    for (const count of [10, 97, 1000]) {
      const parts = Array.from({ length: count }, (_, i) => ((i + 1) * GOLDEN_RATIO) % 1)
      const inQuarter = (quarter: number): number => parts.filter((part) => Math.floor(part * 4) === quarter).length
      for (const quarter of [0, 1, 2, 3])
        assert.ok(Math.abs(inQuarter(quarter) - count / 4) < 2, `${count} in quarter ${quarter}`)
    }
  })
})
