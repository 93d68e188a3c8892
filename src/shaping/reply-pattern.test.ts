import { assert } from 'chai'
import { examinedPart, readPattern } from './reply-pattern.ts'

const GOOD = [
  'too many',
  '\\[TSS?0[34]\\]',
  'rate.?limit|throttl',
  '\\(S31(40|50)\\)',
  'exceeded .{0,40}(rate|limit)',
  '(a|b)?c',
  '\\d+ messages',
  '[()*+]',
  '[(?]',
  '\\(?x',
  'a*a+ba',
  'a*b*c*',
  'a?b?c?d?e?f?g?h?i?j',
]
const REFUSED: readonly [pattern: string, reason: RegExp][] = [
  ['', /characters/],
  ['x'.repeat(301), /characters/],
  ['(a+)+', /repeat a group/],
  ['(a|a)*b', /repeat a group/],
  ['(?:x){2,5}', /repeat a group/],
  ['(?=a)b', /ahead/],
  ['(?<!a)b', /behind/],
  ['(?<n>a)', /name a group/],
  ['(?i:a)', /flags/],
  ['(a)\\1', /refer/],
  ['(', /./],
  ['a{2', /./],
]

describe('patterns of the shaping file', () => {
  for (const source of GOOD) it(`accepts ${source}`, () => assert.strictEqual(readPattern(source).kind, 'pattern'))
  for (const [source, reason] of REFUSED) {
    it(`rejects ${source.slice(0, 20) || 'nothing'}`, () => {
      const read = readPattern(source)
      assert.ok(read.kind === 'refused')
      assert.match(read.reason, reason)
    })
  }
  it('ignore case', () => {
    const read = readPattern('Too many')
    assert.ok(read.kind === 'pattern' && read.pattern.matches(examinedPart('421 TOO MANY connections')))
  })
  it('examine the first 500 characters of a text', () => {
    const read = readPattern('^x*y')
    assert.ok(read.kind === 'pattern')
    assert.ok(read.pattern.matches(examinedPart(`${'x'.repeat(499)}y`)))
    assert.ok(!read.pattern.matches(examinedPart(`${'x'.repeat(500)}y`)))
  })
})
