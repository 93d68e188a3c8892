/** Bounds by weeks: no id of a batch is ever outside, and the texts of prepared statements are few. */
import { assert } from 'chai'
import fc from 'fast-check'
import { idAt, isUuid, newId, timeOf } from '#src/platform/id.ts'
import { MAX_CLOCK_SKEW_MS, weekly, weeksOf, type Weeks } from './weeks.ts'

const NOW = Date.UTC(2026, 10, 22)
const DAY = 24 * 3600 * 1000
const WEEK = 7 * DAY
const id = fc.oneof(
  fc.integer({ min: NOW - 200 * WEEK, max: NOW + 5 * WEEK }).map((ms) => idAt(ms)),
  fc.uuid(),
  fc.constantFrom('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
)

/** Evaluates a condition as PostgreSQL does: texts of uuids order as uuids. */
function isTrue(condition: string, value: string): boolean {
  const bounds = (text: string): boolean =>
    [...text.matchAll(/id (>=|<) '([^']+)'/g)].every(([, sign, bound = '']) => {
      assert.isTrue(isUuid(bound), bound)
      return sign === '<' ? value < bound : value >= bound
    })
  return condition.split(' OR ').map(bounds).includes(true)
}

/** How many of the weeks around now the condition contains. */
function countWeeks(weeks: Weeks): number {
  return Array.from({ length: 300 }, (_, i) => idAt(NOW + (i - 280) * WEEK)).filter((one) =>
    isTrue(weeks.contain('id'), one),
  ).length
}

describe('weeks of a batch of ids', () => {
  it('contain every id of the batch, and the ids made after it', () => {
    fc.assert(
      fc.property(fc.array(id, { minLength: 1, maxLength: 40 }), fc.nat(300 * DAY), (ids, laterMs) => {
        const weeks = weeksOf(ids, NOW)
        for (const one of ids) {
          assert.isTrue(isTrue(weeks.contain('id'), one), one)
          const followed = idAt(Math.min(2 ** 48 - 1, timeOf(one) + laterMs))
          assert.isTrue(isTrue(weeks.precede('id'), followed), followed)
          const early = idAt(Math.max(0, timeOf(one) - MAX_CLOCK_SKEW_MS))
          assert.isTrue(isTrue(weeks.precede('id'), early), early)
        }
      }),
    )
  })

  const cases: readonly (readonly [what: string, ages: readonly number[], weeks: number])[] = [
    ['one message', [0], 1],
    ['messages of one week', [DAY, 2 * DAY], 1],
    ['an old message', [90 * WEEK], 1],
    ['a new and an old message', [0, 90 * WEEK], 2],
    ['two weeks in a row', [0, WEEK], 2],
  ]
  for (const [what, ages, expected] of cases)
    it(`${what}: ${expected} weeks`, () => {
      assert.strictEqual(
        countWeeks(
          weeksOf(
            ages.map((age) => newId(NOW - age)),
            NOW,
          ),
        ),
        expected,
      )
    })

  it('the bounds of the first and of the last id are ids', () => {
    for (const one of ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'])
      assert.isTrue(isTrue(weeksOf([one], NOW).contain('id'), one), one)
  })

  it('no id is in the weeks of an empty batch', () => {
    assert.isFalse(weeksOf([], NOW).contain('id') !== 'false')
  })

  it('a statement has a name for weeks around now only, another one for other weeks, and the same text for it', () => {
    const statement = weekly('test', (weeks) => weeks.contain('id'))
    const [now, again, old] = [newId(), newId(), newId(Date.now() - 90 * WEEK)].map((one) => statement.for([one]))
    assert.strictEqual(now, again)
    assert.match(now?.name ?? '', /^test /)
    assert.strictEqual(old?.name, '')
    assert.notStrictEqual(statement.for([newId(Date.now() - 2 * WEEK)]).name, now?.name)
  })
})
