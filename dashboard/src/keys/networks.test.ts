import { assert } from 'chai'
import { isNetwork } from './networks.ts'

describe('networks of a key', () => {
  const cases: readonly [text: string, isRight: boolean][] = [
    ['192.0.2.7', true],
    ['192.0.2.0/24', true],
    ['2001:db8::/32', true],
    ['::1', true],
    ['::ffff:192.0.2.1', true],
    ['192.0.2', false],
    ['192.0.2.256', false],
    ['192.0.2.0/33', false],
    ['192.0.2.0.', false],
    ['2001:db8::/129', false],
    ['example.com', false],
    ['', false],
  ]
  for (const [text, isRight] of cases)
    it(`${JSON.stringify(text)} ${isRight ? 'is' : 'is not'} one`, () => assert.strictEqual(isNetwork(text), isRight))
})
