import { assert } from 'chai'
import fc from 'fast-check'
import { compileTokens, readCharacters, readTokens } from './linear-pattern.ts'

function compile(source: string): (text: string) => boolean {
  const matches = compileTokens(readTokens(source))
  return (text) => matches(readCharacters(text))
}

/**
 * The result of RegExp, tried at each character: V8 starts some empty matches between the halves of a surrogate pair
 * (`\B/?` in `1😀1`), where ECMA-262 (RegExpBuiltinExec, AdvanceStringIndex) starts none.
 */
function isFoundByRegExp(source: string, text: string): boolean {
  const regex = new RegExp(source, 'iuy')
  for (let at = 0; at <= text.length; at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1) {
    regex.lastIndex = at
    if (regex.test(text)) return true
  }
  return false
}

/** Elements that match one character, including those with special case or length. */
const ELEMENTS = String.raw`
  a b k ſ K é İ ı ß 😀 . \. [ab] [^a] \w \W \s \S \d \D \u{1F600} \ud83d\ude00 \ud83d \u00e9
  \x41 \n \cJ \0 [] [^]
  \p{L} \P{Lu} \p{Emoji}
  [\w-] [^\W\d] \[ [(?)] [\]] \\ [\b] \/`
  .trim()
  .split(/\s+/)
const QUANTIFIERS = ['', '', '', '*', '+', '?', '{0,9}', '{2}', '{1,}', '{7,}', '{0,99999}', '*?', '??', '{0,2}?']
const CHARACTERS = ['a', 'A', 'b', 'k', 'ſ', 'K', 'é', 'É', 'İ', 'ı', 'ß', 'ẞ', '😀', '\ud83d', '\ude00']
const SIGNS = ['\n', '\r', '\u2028', '\0', ' ', '\u00a0', '_', '1', '[', '(', '\\', '-', '/']

const pattern = fc.letrec<{ part: string; alternative: string; pattern: string }>((tie) => ({
  part: fc.oneof(
    { depthSize: 'small' },
    fc.tuple(fc.constantFrom(...ELEMENTS), fc.constantFrom(...QUANTIFIERS)).map((pair) => pair.join('')),
    fc.constantFrom('^', '$', '\\b', '\\B'),
    fc
      .tuple(fc.constantFrom('(', '(?:'), tie('pattern'), fc.constantFrom(')', ')', ')?', ')??'))
      .map((group) => group.join('')),
  ),
  alternative: fc.array(tie('part'), { maxLength: 5 }).map((parts) => parts.join('')),
  pattern: fc.array(tie('alternative'), { minLength: 1, maxLength: 3 }).map((parts) => parts.join('|')),
})).pattern

describe('patterns in linear time', () => {
  it('match what RegExp matches with the flags i and u', () => {
    const character = fc.constantFrom(...CHARACTERS, ...SIGNS)
    const texts = fc.array(fc.string({ unit: character, maxLength: 10 }), { minLength: 1, maxLength: 5 })
    fc.assert(
      fc.property(pattern, texts, (source, list) => {
        const isFoundIn = compile(source)
        for (const text of list)
          assert.strictEqual(isFoundIn(text), isFoundByRegExp(source, text), JSON.stringify({ source, text }))
      }),
      { numRuns: 1000 },
    )
  })
  it('take linear time for each part and character, whatever the pattern', function () {
    this.timeout(20_000)
    const worst = [
      'a*'.repeat(150),
      'a?'.repeat(150),
      '.{0,500}'.repeat(37),
      '.*.*.*.*b|'.repeat(30),
      '(a|a)'.repeat(60),
      `${'(a?|'.repeat(60)}${')'.repeat(60)}`,
      `a*a+${'a?'.repeat(100)}b`,
      '[^\\p{L}]*\\p{Lu}+'.repeat(17),
    ]
    for (const source of worst) {
      const isFoundIn = compile(source)
      const began = process.threadCpuUsage()
      for (const text of ['a'.repeat(500), 'ab'.repeat(250), `${'a'.repeat(499)}!`, 'é'.repeat(500)]) isFoundIn(text)
      const { user, system } = process.threadCpuUsage(began)
      assert.ok(user + system < 400_000, `${source}: ${user + system} µs for four texts`)
    }
  })
})
