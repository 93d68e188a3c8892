import { assert } from 'chai'
import { namedTags, tags } from './tags.ts'

const CASES: readonly (readonly [given: unknown, stored: readonly string[] | null])[] = [
  ['order', ['order']],
  [
    ['order', 'paid'],
    ['order', 'paid'],
  ],
  [[{ name: 'category', value: 'welcome' }], ['category:welcome']],
  [{ name: 'category', value: 'welcome' }, ['category:welcome']],
  [
    ['order', { name: 'attempt', value: 2 }, { name: 'first', value: true }],
    ['order', 'attempt:2', 'first:true'],
  ],
  [[{ name: 'url', value: 'https://example.com' }], ['url:https://example.com']],
  [
    [{ name: 'order' }, { name: 'paid', value: '' }],
    ['order', 'paid'],
  ],
  [['a:b', { name: 'a', value: 'b' }], ['a:b']],
  [[], []],
  [null, null],
]
const REFUSED: readonly unknown[] = [
  [''],
  ['x'.repeat(129)],
  ['a\nb'],
  [{ name: 'a:b', value: 'c' }],
  [{ name: '', value: 'c' }],
  [{ value: 'c' }],
  [{ name: 'a', value: {} }],
  [{ name: 'a', value: 'x'.repeat(127) }],
  [{ name: 'a', value: 'b\0' }],
  [['a']],
  5,
  Array.from({ length: 51 }, (_, i) => `t${i}`),
]

describe('tags of a message', () => {
  for (const [given, stored] of CASES)
    it(`stores ${JSON.stringify(given)} as ${JSON.stringify(stored)}`, () =>
      assert.deepEqual(tags.parse(given) ?? null, stored))
  for (const given of REFUSED)
    it(`refuses ${JSON.stringify(given).slice(0, 60)}`, () => assert.strictEqual(tags.safeParse(given).success, false))
  it('shows the name and the value of those that have both', () => {
    assert.deepEqual(namedTags(['order', 'category:welcome', ':x', 'url:https://example.com']), [
      { name: 'category', value: 'welcome' },
      { name: 'url', value: 'https://example.com' },
    ])
  })
})
