import { assert } from 'chai'
import fc from 'fast-check'
import { type ResolutionName, RESOLUTIONS } from './dimensions.ts'
import { divide, INTERVAL_NAMES, INTERVALS } from './intervals.ts'
import { periodEnd, periodOf } from './periods.ts'
import { type Tile, tilesOf } from './tiles.ts'

const [MINUTE_MS, HOUR_MS, DAY_MS] = [60_000, 3_600_000, 24 * 3_600_000]
const NOW_MS = Date.UTC(2026, 10, 27, 14, 26)
const ZONES = ['UTC', 'America/New_York', 'Asia/Kolkata', 'Asia/Kathmandu', 'Pacific/Auckland', 'Pacific/Kiritimati']
const FINEST = ['minute', 'hour'] as const

describe('the rows of a report', () => {
  /** The number of the interval in which each of the rows that have an event counts. */
  function bucketsOf(tiles: readonly Tile[], ms: number, rolledMs: number, bucketAt: (ms: number) => number): number[] {
    return tiles.flatMap(({ resolution, from, to, isByNoon }) => {
      const at = periodOf(resolution, ms)
      const isStored = resolution === 'minute' || ms < rolledMs
      return isStored && at >= from && at < to ? [bucketAt(isByNoon ? at + DAY_MS / 2 : at)] : []
    })
  }

  it('have each event once, in its interval', () => {
    const ages = fc.oneof(fc.double({ min: 0, max: 2, noNaN: true }), fc.double({ min: 0, max: 400, noNaN: true }))
    fc.assert(
      fc.property(
        fc.record({
          interval: fc.constantFrom(...INTERVAL_NAMES),
          zone: fc.constantFrom(...ZONES),
          age: ages,
          days: fc.double({ min: 0.01, max: 400, noNaN: true }),
          rolledAge: ages,
          events: fc.array(ages, { minLength: 30, maxLength: 30 }),
          isRanking: fc.boolean(),
        }),
        ({ interval, zone, age, days, rolledAge, events, isRanking }) => {
          const { needs } = INTERVALS[interval]
          const isRecent = needs === 'minute' || needs === 'hour'
          const finest = FINEST[needs === 'minute' ? 0 : 1]
          const from = NOW_MS - (isRecent ? Math.min(age, 1) : age) * DAY_MS
          const rolledMs = periodOf('minute', NOW_MS - rolledAge * DAY_MS)
          const given = divide(
            new Date(from),
            new Date(from + Math.min(days, isRecent ? 1 : days) * DAY_MS),
            interval,
            zone,
          )
          assert.ok(given !== null)
          const division = isRanking ? { starts: given.starts.slice(0, 1), end: given.end } : given
          const coarsest: ResolutionName = isRanking ? 'month' : needs
          const tiles = tilesOf(division, { coarsest, finest, isRecent, rolledMs, nowMs: NOW_MS })
          const edges = [...division.starts, division.end].map((one) => one.getTime())
          const bucketAt = (ms: number): number => edges.filter((edge) => edge <= ms).length
          const hoursFrom = Math.ceil((NOW_MS - 31 * DAY_MS) / DAY_MS) * DAY_MS
          const countedAt = (ms: number): number => {
            if (ms >= rolledMs || finest === 'minute') return ms
            return isRecent || ms >= hoursFrom ? periodOf('hour', ms) : periodOf('day', ms) + DAY_MS / 2
          }
          for (const event of events) {
            const ms = NOW_MS - event * DAY_MS
            const bucket = bucketAt(countedAt(ms))
            const isInside = bucket > 0 && bucket < edges.length
            assert.deepEqual(
              bucketsOf(tiles, ms, rolledMs, bucketAt),
              isInside ? [bucket] : [],
              new Date(ms).toISOString(),
            )
          }
          if (!isRecent) assert.isTrue(tiles.every(({ resolution, isByNoon }) => resolution !== 'hour' || !isByNoon))
        },
      ),
      { numRuns: 500 },
    )
  })

  it('are few: a year by day is one tile, and a year in one interval is months', () => {
    const options = { finest: 'hour', isRecent: false, rolledMs: periodOf('hour', NOW_MS), nowMs: NOW_MS } as const
    const year = divide(new Date(NOW_MS - 364 * DAY_MS), new Date(NOW_MS), 'day', 'UTC')
    assert.ok(year !== null)
    const kindsOf = (tiles: readonly Tile[]): string[] => tiles.map(({ resolution }) => resolution)
    assert.deepEqual(kindsOf(tilesOf(year, { ...options, coarsest: 'day' })), ['day', 'minute'])
    const whole = { starts: year.starts.slice(0, 1), end: year.end }
    assert.deepEqual(kindsOf(tilesOf(whole, { ...options, coarsest: 'month' })), ['day', 'month', 'minute'])
  })

  it('begin where the period before ends', () => {
    for (const resolution of ['minute', 'hour', 'day', 'week', 'month'] as const)
      for (const ms of [0, NOW_MS, Date.UTC(2024, 1, 29, 23, 59), Date.UTC(2026, 0, 31), Date.UTC(2025, 11, 31)]) {
        const start = periodOf(resolution, ms)
        assert.isTrue(start <= ms && ms < periodEnd(resolution, start), `${resolution} of ${ms}`)
        assert.strictEqual(periodOf(resolution, periodEnd(resolution, start)), periodEnd(resolution, start))
        assert.strictEqual(start % (RESOLUTIONS[resolution].ms < DAY_MS ? MINUTE_MS : HOUR_MS), 0)
      }
    assert.strictEqual(new Date(periodOf('week', NOW_MS)).toISOString(), '2026-11-23T00:00:00.000Z')
  })
})
