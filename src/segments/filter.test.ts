import { assert } from 'chai'
import fc from 'fast-check'
import { readFilter, type Filter } from './filter.ts'
import { filterOf } from './filter.test-data.ts'

describe('filters', () => {
  const CANONICAL: readonly (readonly [unknown, Filter])[] = [
    [{ tag: 'vip' }, { tag: 'vip', has: true }],
    [
      { attribute: 'plan', value: 'pro' },
      { attribute: 'plan', op: 'eq', value: 'pro' },
    ],
    [
      { attribute: 'plan', op: 'exists' },
      { attribute: 'plan', op: 'exists', value: true },
    ],
    [
      { field: 'first_name', op: 'contains', value: 'a' },
      { field: 'firstName', op: 'contains', value: 'a' },
    ],
    [
      { field: 'deliverability_score', op: 'gt', value: 0.5 },
      { field: 'score', op: 'gt', value: 0.5 },
    ],
    [
      { field: 'created_at', op: 'before', value: '2026-01-01' },
      { field: 'createdAt', op: 'lt', value: '2026-01-01T00:00:00.000Z' },
    ],
    [{ status: 'subscribed' }, { status: 'subscribed', audienceId: null }],
    [
      { activity: 'opened', within_days: 30 },
      { activity: 'opened', withinDays: 30 },
    ],
    [{ not: { any: [{ tag: 'a', has: false }] } }, { not: { any: [{ tag: 'a', has: false }] } }],
    [{ all: [] }, { all: [] }],
  ]
  for (const [given, expected] of CANONICAL)
    it(`${JSON.stringify(given)} is accepted`, () => assert.deepEqual(filterOf(given), expected))

  const nested = (levels: number): unknown => (levels === 0 ? { tag: 'a' } : { not: nested(levels - 1) })
  const WRONG: readonly (readonly [unknown, string, RegExp])[] = [
    [null, 'filter', /must be an object/],
    [[], 'filter', /must be an object/],
    [{}, 'filter', /must have one of/],
    [{ tag: 'a', field: 'email' }, 'filter', /must have one of/],
    [{ all: {} }, 'filter.all', /list/],
    [{ all: [{ tag: 'a' }, { tag: '' }] }, 'filter.all.1.tag', /is empty/],
    [{ field: 'password', value: 'x' }, 'filter.field', /must be one of/],
    [{ field: 'email; DROP TABLE contacts', value: 'x' }, 'filter.field', /must be one of/],
    [{ field: 'constructor', value: 'x' }, 'filter.field', /must be one of/],
    [{ field: 'email', op: 'like', value: 'x' }, 'filter.op', /must be one of/],
    [{ field: 'score', value: 'x' }, 'filter.value', /must be a number/],
    [{ field: 'score', op: 'contains', value: 1 }, 'filter.op', /texts/],
    [{ field: 'createdAt', op: 'before', value: 'yesterday' }, 'filter.value', /ISO 8601/],
    [{ field: 'email', op: 'eq' }, 'filter.value', /is required/],
    [{ field: 'email', op: 'exists', value: 'x' }, 'filter.value', /true or false/],
    [{ status: 'gone' }, 'filter.status', /must be one of/],
    [{ status: 'member', audienceId: 'x' }, 'filter.audienceId', /UUID/],
    [{ activity: 'opened', withinDays: 0 }, 'filter.withinDays', /at least 1/],
    [{ tag: 'x'.repeat(501) }, 'filter.tag', /at most 500/],
    [{ tag: 'a\0' }, 'filter.tag', /characters/],
    [nested(6), 'filter.not.not.not.not.not.not', /deeper than 6/],
    [nested(1000), 'filter.not.not.not.not.not.not', /deeper than 6/],
    [{ any: Array.from({ length: 100_000 }, () => ({ tag: 'a' })) }, 'filter', /at most 50 conditions/],
    [{ any: Array.from({ length: 6 }, () => ({ activity: 'opened' })) }, 'filter', /at most 5 conditions on activity/],
  ]
  for (const [given, path, message] of WRONG) {
    it(`${JSON.stringify(given)?.slice(0, 60)} is rejected: ${message.source}`, () => {
      const read = readFilter(given)
      assert.ok(!read.ok)
      assert.strictEqual(read.details[0]?.path, path)
      assert.match(read.details[0].message, message)
    })
  }

  it('any JSON is accepted or rejected, never an exception', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (given) => {
        readFilter(given)
      }),
    )
  })
})
