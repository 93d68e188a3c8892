import { assert } from 'chai'
import { startOf } from '#dashboard/src/shared/period.ts'
import type { Metrics } from './campaign-state.ts'
import { completePeriods, funnelOf, intervalOf } from './result-series.ts'

const START = Date.parse('2026-11-26T10:00:00Z')
const HOUR_MS = 3600_000

describe('dashboard: results of a campaign', () => {
  const AGES: readonly [number, string][] = [
    [0.5, 'minute'],
    [3, 'minute'],
    [4, 'hour'],
    [96, 'hour'],
    [200, 'day'],
  ]
  for (const [hours, expected] of AGES)
    it(`${hours} hours after the start a point is one ${expected}`, () => {
      assert.strictEqual(intervalOf(START, START + hours * HOUR_MS), expected)
    })

  it('fills periods without events with zeros, up to the last event', () => {
    const rows = [{ start: '2026-11-26T12:00:00.000Z', counts: { delivered: 3, opened_unique: 1 } }]
    assert.deepEqual(completePeriods(rows, startOf(new Date(START + 5), 'hour'), 'hour'), {
      times: ['2026-11-26T10:00:00.000Z', '2026-11-26T11:00:00.000Z', '2026-11-26T12:00:00.000Z'],
      values: { delivered: [0, 0, 3], opened_unique: [0, 0, 1], clicked_unique: [0, 0, 0] },
    })
    assert.lengthOf(completePeriods([], new Date(START), 'day').times, 2)
  })

  it('shares are of the sent or of the delivered mail', () => {
    const metrics = { recipients: 20, dispatched: 10, delivered: 8, opened: 4, clicked: 2, bounced: 2 }
    const funnel = funnelOf({ ...metrics, unsubscribed: 0, complained: 0 } as Metrics)
    assert.deepEqual(
      funnel.map(({ key, count, share }) => [key, count, share]),
      [
        ['dispatched', 10, 0.5],
        ['delivered', 8, 0.8],
        ['opened', 4, 0.5],
        ['clicked', 2, 0.25],
        ['unsubscribed', 0, 0],
        ['bounced', 2, 0.2],
        ['complained', 0, 0],
      ],
    )
  })
})
