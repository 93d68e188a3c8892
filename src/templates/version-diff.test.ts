import { assert } from 'chai'
import fc from 'fast-check'
import { diffVersions } from './version-diff.ts'

const CONTENT = {
  name: 'Welcome',
  subject: 'Hello',
  body: '<p>a</p>\n<p>b</p>\n',
  text: null,
  format: 'html',
  sampleData: null,
  partials: {},
} as const

describe('difference of template versions', () => {
  const CASES: readonly [what: string, change: object, part: string, lines: readonly string[]][] = [
    ['a changed subject', { subject: 'Hi' }, 'subject', ['-Hello', '+Hi']],
    ['a changed line', { body: '<p>a</p>\n<p>c</p>\n' }, 'body', [' <p>a</p>', '-<p>b</p>', '+<p>c</p>']],
    ['a removed line', { body: '<p>a</p>\n' }, 'body', [' <p>a</p>', '-<p>b</p>']],
    ['a lost line end', { body: '<p>a</p>\n<p>b</p>' }, 'body', [' <p>a</p>', '-<p>b</p>', '+<p>b</p>']],
    ['a new text part', { text: 'a' }, 'text', ['+a']],
    ['a newer partial', { partials: { footer: 2 } }, 'partials', ['+footer, version 2']],
    ['other sample data', { sampleData: { n: 1 } }, 'sample_data', ['+{', '+  "n": 1', '+}']],
  ]
  for (const [what, change, part, lines] of CASES)
    it(`shows ${what}`, () => {
      const changes = diffVersions(CONTENT, { ...CONTENT, ...change })
      assert.deepEqual(
        changes.map((one) => [one.part, one.hunks.flatMap((hunk) => hunk.lines)]),
        [[part, lines]],
      )
    })

  it('shows nothing for equal versions', () => {
    assert.deepEqual(diffVersions(CONTENT, { ...CONTENT }), [])
  })

  it('shows texts that have too little in common as replaced, in bounded time', () => {
    const many = (word: string): string => Array.from({ length: 20_000 }, (_, n) => `${word}${n}`).join('\n')
    const [change] = diffVersions({ ...CONTENT, body: many('a') }, { ...CONTENT, body: many('b') })
    assert.deepEqual([change?.added, change?.removed, change?.hunks.length], [20_000, 20_000, 1])
  })

  it('has every line of both texts that differs', () => {
    const body = fc.array(fc.constantFrom('', 'a', 'b', 'c', '-', '+', '\\ x'), { maxLength: 12 })
    fc.assert(
      fc.property(body, body, (one, other) => {
        const [before, after] = [one.join('\n'), other.join('\n')]
        const found = diffVersions({ ...CONTENT, body: before }, { ...CONTENT, body: after })
        assert.strictEqual(found.length, before === after ? 0 : 1)
        const sizes = (sign: string): number =>
          found
            .flatMap(({ hunks }) => hunks)
            .flatMap(({ lines }) => lines)
            .filter((line) => line.startsWith(sign)).length
        assert.deepEqual([found[0]?.added ?? 0, found[0]?.removed ?? 0], [sizes('+'), sizes('-')])
      }),
    )
  })
})
