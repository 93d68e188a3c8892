import assert from 'node:assert/strict'
import fc from 'fast-check'
import { matches, readPattern } from './pattern.ts'

const GOOD = [
  'too many',
  '\\[TSS?0[34]\\]',
  'rate.?limit|throttl',
  '\\(S31(40|50)\\)',
  'exceeded .{0,40}(rate|limit)',
  '(a|b)?c',
  '\\d+ messages',
  '[()*+]',
]
const REFUSED: readonly [pattern: string, why: RegExp][] = [
  ['', /characters/],
  ['x'.repeat(301), /characters/],
  ['(a+)+', /group/],
  ['(a|a)*b', /group/],
  ['(?:x){2,5}', /group/],
  ['(?=a)b', /ahead/],
  ['(?<n>a)', /ahead/],
  ['(a)\\1', /refer/],
  ['a*b*c*', /repeat/],
  ['(', /./],
  ['a{2', /./],
  ['a?b?c?d?e?f?g?h?i?j', /optional/],
]

describe('patterns of the shaping file', () => {
  for (const source of GOOD) it(`takes ${source}`, () => assert.equal(readPattern(source).kind, 'pattern'))
  for (const [source, why] of REFUSED) {
    it(`refuses ${source.slice(0, 20) || 'nothing'}`, () => {
      const read = readPattern(source)
      assert.ok(read.kind === 'refused')
      assert.match(read.why, why)
    })
  }
  it('ignores case', () => {
    const read = readPattern('Too many')
    assert.ok(read.kind === 'pattern' && matches(read.regex, '421 TOO MANY connections'))
  })
  it('whatever it takes answers at once, whatever it is matched with', function () {
    this.timeout(20_000)
    const part = fc.constantFrom(
      'a',
      'b',
      '.',
      '[ab]',
      '(',
      ')',
      '|',
      '*',
      '+',
      '?',
      '{0,9}',
      '{1,}',
      '\\w',
      '\\s',
      '^',
      '$',
      '(?:',
      '\\b',
    )
    fc.assert(
      fc.property(
        fc.array(part, { minLength: 1, maxLength: 14 }),
        fc.constantFrom('a'.repeat(5000), 'ab'.repeat(2500), `${'a'.repeat(4000)}!`),
        (parts, text) => {
          const read = readPattern(parts.join(''))
          if (read.kind === 'refused') return
          const began = performance.now()
          matches(read.regex, text)
          assert.ok(performance.now() - began < 500, parts.join(''))
        },
      ),
      { numRuns: 2000 },
    )
  })
})
