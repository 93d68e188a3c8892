import { assert } from 'chai'
import fc from 'fast-check'
import { fromFilter, isComplete, newCondition, newGroup, readValue, replaceNode, toFilter } from './segment-document.ts'

type Filter = Readonly<Record<string, unknown>>

const TAGS = ['a', 'b', 'c', 'd']
const leaf = fc.constantFrom(...TAGS).map((tag): Filter => ({ tag, has: true }))
const { filter: anyFilter } = fc.letrec<{ filter: Filter }>((tie) => ({
  filter: fc.oneof(
    { depthSize: 'small' },
    leaf,
    fc.array(tie('filter'), { maxLength: 3 }).map((all): Filter => ({ all })),
    fc.array(tie('filter'), { maxLength: 3 }).map((any): Filter => ({ any })),
    tie('filter').map((not): Filter => ({ not })),
  ),
}))

/** Whether a contact with these tags is in the segment. */
function matches(filter: Filter, tags: readonly string[]): boolean {
  const { all, any, not, tag } = filter as { all?: Filter[]; any?: Filter[]; not?: Filter; tag?: string }
  if (all !== undefined) return all.every((one) => matches(one, tags))
  if (any !== undefined) return any.some((one) => matches(one, tags))
  return not === undefined ? tags.includes(tag ?? '') : !matches(not, tags)
}

describe('document of a segment', () => {
  it('selects the same contacts as the filter that it was read from', () => {
    fc.assert(
      fc.property(anyFilter, fc.subarray(TAGS), (filter, tags) => {
        assert.strictEqual(matches(toFilter(fromFilter(filter)), tags), matches(filter, tags))
      }),
    )
  })

  it('keeps each kind of condition', () => {
    const conditions: readonly Filter[] = [
      { attribute: 'plan', op: 'eq', value: 'pro' },
      { attribute: 'seats', op: 'gt', value: 5 },
      { field: 'firstName', op: 'exists', value: false },
      { tag: 'vip', has: false },
      { status: 'subscribed', audienceId: null },
      { activity: 'opened', withinDays: 30 },
    ]
    assert.deepEqual(toFilter(fromFilter({ all: conditions })), { all: conditions })
  })

  it('replaces and removes nodes, and keeps the root', () => {
    const tag = newCondition({ type: 'tag', tag: 'a', has: true })
    const inner = newGroup('any', [tag])
    const root = newGroup('all', [inner])
    assert.deepEqual(toFilter(replaceNode(root, tag.key, null)), { all: [{ any: [] }] })
    assert.deepEqual(toFilter(replaceNode(root, inner.key, { ...inner, match: 'none' })), {
      all: [{ not: { any: [{ tag: 'a', has: true }] } }],
    })
    assert.strictEqual(replaceNode(root, root.key, null), root)
  })

  it('knows what is missing', () => {
    assert.isTrue(isComplete(newGroup()))
    assert.isFalse(isComplete(newGroup('all', [newCondition()])))
    assert.isFalse(isComplete(newGroup('all', [newGroup('any', [newCondition({ type: 'tag', tag: ' ', has: true })])])))
  })

  it('reads numbers without changing them', () => {
    const cases: readonly [string, string | number][] = [
      ['5', 5],
      ['-1.5', -1.5],
      ['007', '007'],
      ['1.0', '1.0'],
      ['12345678901234567890', '12345678901234567890'],
      ['pro', 'pro'],
    ]
    for (const [text, expected] of cases) assert.strictEqual(readValue(text), expected)
  })
})
