/** The windows of a search: together they are the whole period, without a gap or an overlap. */
import { assert } from 'chai'
import fc from 'fast-check'
import { idAt } from '#src/platform/id.ts'
import { splitByAge, windowsOf } from './search-windows.ts'

const NOW = Date.UTC(2026, 10, 22)
const WEEK = 7 * 24 * 3600 * 1000
const OLDEST = Math.floor(NOW / WEEK - 107) * WEEK
const time = fc.option(fc.integer({ min: OLDEST - 5 * WEEK, max: NOW + 5 * WEEK }))

describe('windows of a search', () => {
  it('follow each other from the newest to the oldest id of the period', () => {
    fc.assert(
      fc.property(time, time, fc.option(fc.uuid()), (fromMs, toMs, cursor) => {
        const windows = windowsOf({ fromMs, toMs, cursor }, OLDEST, NOW)
        const last = windows.at(-1)
        for (const [i, { from, to }] of windows.entries()) {
          assert.isBelow(from.localeCompare(to), 0)
          if (i > 0) assert.strictEqual(to, windows[i - 1]?.from)
        }
        const start = idAt(Math.max(OLDEST, fromMs ?? 0))
        const end = [cursor ?? 'g', toMs === null ? 'g' : idAt(toMs)].toSorted()[0] ?? ''
        if (last === undefined) assert.isTrue(end <= start)
        else {
          assert.strictEqual(last.from, start)
          if (end !== 'g') assert.strictEqual(windows[0]?.to, end)
        }
      }),
    )
  })

  it('are few: each is twice as long', () => {
    assert.deepEqual(
      windowsOf({ fromMs: null, toMs: null, cursor: null }, OLDEST, NOW).map(({ from }) => from.slice(0, 8)).length,
      5,
    )
  })

  const ages: readonly (readonly [what: string, toMs: number | null, recent: number, old: number])[] = [
    ['all', null, 2, 3],
    ['from ten weeks ago', NOW - 10 * WEEK, 1, 4],
    ['from two years ago', NOW - 100 * WEEK, 0, 2],
  ]
  for (const [what, toMs, recent, old] of ages)
    it(`${what}: those of the last months and the old ones are distinguished`, () => {
      const windows = windowsOf({ fromMs: null, toMs, cursor: null }, OLDEST, NOW)
      const split = splitByAge(windows, NOW)
      assert.deepEqual([...split.recent, ...split.old], windows)
      assert.deepEqual([split.recent.length, split.old.length], [recent, old])
    })
})
