import { assert } from 'chai'
import fc from 'fast-check'
import { digestOf } from './send.ts'

const hex = (endpoint: string, value: unknown): string => digestOf(endpoint, value).toString('hex')

describe('the digest of a request', () => {
  it('does not depend on the order of keys', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const turned: unknown = JSON.parse(JSON.stringify(value), (_key, item: unknown) =>
          typeof item === 'object' && item !== null && !Array.isArray(item)
            ? Object.fromEntries(Object.entries(item).toReversed())
            : item,
        )
        assert.strictEqual(hex('x', turned), hex('x', JSON.parse(JSON.stringify(value))))
      }),
    )
  })
  it('differs if anything differs', () => {
    const all = [
      hex('send high', { a: 1 }),
      hex('send bulk', { a: 1 }),
      hex('x', { a: 1 }),
      hex('x', { a: '1' }),
      hex('x', { a: null }),
      hex('x', {}),
      hex('x', []),
      hex('x', [[], []]),
      hex('x', [[[]]]),
      hex('x', ['a', 'b']),
      hex('x', ['b', 'a']),
      hex('x', ['a,b']),
      hex('x', { a: { b: 1 }, c: 1 }),
      hex('x', { a: { b: 1, c: 1 } }),
      hex('x', Buffer.from('a')),
      hex('x', Buffer.from('b')),
      hex('x', new Date(0)),
      hex('x', new Date(1)),
    ]
    assert.strictEqual(new Set(all).size, all.length)
  })
})
