/** Filters as callers give them: one that must be valid, and random ones. */
import { assert } from 'chai'
import fc from 'fast-check'
import { ACTIVITIES, SEGMENT_FIELDS, OPERATORS, readFilter, STATUSES, type Filter } from './filter.ts'

export function filterOf(given: unknown): Filter {
  const read = readFilter(given)
  return read.ok ? read.filter : assert.fail(JSON.stringify(read.details))
}

/** Random filters of all kinds; names and values are drawn from `texts`. */
export function filters(texts: fc.Arbitrary<string>, audiences: fc.Arbitrary<string>): fc.Arbitrary<unknown> {
  const value = fc.oneof(texts, fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 }), fc.boolean())
  const textFields = Object.entries(SEGMENT_FIELDS)
    .filter(([, type]) => type === 'text')
    .map(([name]) => name)
  const leaf = fc.oneof(
    fc.record({ tag: texts, has: fc.boolean() }),
    fc.record({ attribute: texts, op: fc.constantFrom(...OPERATORS.filter((op) => op !== 'exists')), value }),
    fc.record({ attribute: texts, op: fc.constant('exists'), value: fc.boolean() }),
    fc.record({
      field: fc.constantFrom(...textFields),
      op: fc.constantFrom('eq', 'ne', 'gt', 'lt', 'contains'),
      value: texts,
    }),
    fc.record({
      field: fc.constantFrom(...Object.keys(SEGMENT_FIELDS)),
      op: fc.constant('exists'),
      value: fc.boolean(),
    }),
    fc.record({
      field: fc.constant('score'),
      op: fc.constantFrom('eq', 'ne', 'gt', 'lt'),
      value: fc.constantFrom(0, 0.5, 1),
    }),
    fc.record({
      field: fc.constantFrom('createdAt', 'updatedAt'),
      op: fc.constantFrom('before', 'after'),
      value: fc.constant('2026-01-01T00:00:00Z'),
    }),
    fc.record({ status: fc.constantFrom(...STATUSES), audienceId: fc.option(audiences) }),
    fc.record({ activity: fc.constantFrom(...ACTIVITIES), withinDays: fc.option(fc.integer({ min: 1, max: 100 })) }),
  )
  const group = (inner: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
    fc.oneof(
      fc.record({ all: fc.array(inner, { maxLength: 3 }) }),
      fc.record({ any: fc.array(inner, { maxLength: 3 }) }),
      fc.record({ not: inner }),
    )
  return fc.oneof(leaf, group(leaf), group(group(leaf)))
}
