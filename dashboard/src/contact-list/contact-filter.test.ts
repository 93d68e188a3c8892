import { assert } from 'chai'
import { contactQueryOf, countFilterOf, splitAttribute } from './contact-filter.ts'

describe('filters of contacts', () => {
  it('reads an attribute with and without a value', () => {
    const cases: readonly [string, object][] = [
      ['plan', { attribute: 'plan' }],
      ['plan=pro', { attribute: 'plan', value: 'pro' }],
      [' plan = a=b ', { attribute: 'plan', value: 'a=b' }],
      ['plan=', { attribute: 'plan' }],
    ]
    for (const [text, expected] of cases) assert.deepEqual(splitAttribute(text), expected, text)
  })

  it('reads the address of a page; the audience of the page wins', () => {
    assert.deepEqual(contactQueryOf({}), {})
    assert.deepEqual(
      contactQueryOf({ q: ' an ', status: 'odd', audience: 'a', attribute: 'plan=pro' }, { audienceId: 'b' }),
      {
        search: 'an',
        audienceId: 'b',
        attribute: 'plan',
        value: 'pro',
      },
    )
  })

  it('counts with a filter of segments where there is one', () => {
    assert.deepEqual(countFilterOf({}), { all: [] })
    assert.isNull(countFilterOf({ search: 'an' }))
    assert.isNull(countFilterOf({ segmentId: 's' }))
    assert.deepEqual(countFilterOf({ status: 'subscribed', audienceId: 'a', tag: 'vip', attribute: 'plan' }), {
      all: [
        { status: 'subscribed', audienceId: 'a' },
        { tag: 'vip', has: true },
        { attribute: 'plan', op: 'exists', value: true },
      ],
    })
  })
})
