import { assert, expect } from 'chai'
import * as fc from 'fast-check'
import { fromHex } from './compose.test-data.ts'
import { cleanText, encodeText, encodeWords, formatMailbox, isPlain, makeField } from './field.ts'

/** RFC 2047 §6.2, each word by itself: a word that ends inside of a character would not come back. */
function decodeWords(text: string): string {
  return text
    .split(/\r?\n? /)
    .map((word) => {
      const [, encoding, content = ''] =
        /^=\?UTF-8\?([QB])\?([!-~]*)\?=$/.exec(word) ?? assert.fail(`no encoded word: ${word}`)
      const octets = encoding === 'B' ? Buffer.from(content, 'base64') : fromHex(content.replaceAll('_', ' '))
      return new TextDecoder('utf-8', { fatal: true }).decode(octets)
    })
    .join('')
}

describe('encoded words', () => {
  it('decode to the original text; each has whole characters and at most 75 octets', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', minLength: 1, maxLength: 300 }),
        fc.integer({ min: 0, max: 80 }),
        (given, room) => {
          const encoded = encodeWords(given, room)
          assert.strictEqual(decodeWords(encoded), given)
          const [first = '', ...rest] = encoded.split(' ')
          assert.ok(first.length <= Math.max(30, Math.min(room, 75)))
          assert.ok(rest.every((word) => word.length <= 75))
        },
      ),
      { numRuns: 2000 },
    )
  })

  const texts: readonly [given: string, value: string][] = [
    ['Hello', 'Hello'],
    ['  Hello  ', 'Hello'],
    ['a\r\n b\tc\0', 'a b c'],
    ['=?UTF-8?Q?already?=', '=?UTF-8?Q?already?='],
    ['=?UTF-8?Q?not really', '=?UTF-8?Q?=3D=3FUTF-8=3FQ=3Fnot_really?='],
    ['50 % =? off ?=', '=?UTF-8?Q?50_=25_=3D=3F_off_=3F=3D?='],
    ['Grüße an alle', '=?UTF-8?Q?Gr=C3=BC=C3=9Fe_an_alle?='],
    ['日本', '=?UTF-8?B?5pel5pys?='],
    ['\ud800x lone', '=?UTF-8?Q?=EF=BF=BDx_lone?='],
    ['', ''],
  ]
  for (const [given, value] of texts)
    it(`${JSON.stringify(given)} in a field`, () => assert.strictEqual(encodeText('Subject', given), value))

  it('any text gives exactly one field', () => {
    const unit = fc.constantFrom(
      'a',
      ' ',
      '\t',
      '\r',
      '\n',
      '\0',
      'ü',
      '=?',
      '?=',
      ':',
      'x'.repeat(300),
      '\u2028',
      '\u0085',
    )
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 40 }), (given) => {
        const { line } = makeField('X-Test', encodeText('X-Test', given))
        assert.match(line, /^X-Test: ?(?:[\t -~]+(?:\r\n [\t -~]*[!-~][\t -~]*)*)?\r\n$/)
        assert.ok(line.split('\r\n').every((part) => part.length <= 998))
        assert.ok(isPlain(cleanText(given)) || line.includes('=?UTF-8?'))
      }),
      { numRuns: 3000 },
    )
  })

  it('takes linear time for long text', () => {
    // No clock is looked at: what is not linear does not come to an end here.
    for (const unit of [' ', '\t', 'a', 'ü', '\r\n', '=?', ' a', '"']) {
      const text = `${unit.repeat(1_000_000)}\u00e9`
      assert.ok(makeField('X-Test', encodeText('X-Test', text)).line.length < 20_000_000)
    }
  })
})

describe('formatMailbox', () => {
  const cases: readonly [name: string | null, email: string, written: string][] = [
    [null, 'a@b.co', 'a@b.co'],
    ['', 'a@b.co', 'a@b.co'],
    ['Ann Smith', 'a@b.co', 'Ann Smith <a@b.co>'],
    ['J. Doe', 'a@b.co', '"J. Doe" <a@b.co>'],
    ['Doe, "J" \\', 'a@b.co', '"Doe, \\"J\\" \\\\" <a@b.co>'],
    ['Zoë', 'a@b.co', '=?UTF-8?Q?Zo=C3=AB?= <a@b.co>'],
    ['=?UTF-8?Q?x?=', 'a@b.co', '=?UTF-8?Q?=3D=3FUTF-8=3FQ=3Fx=3F=3D?= <a@b.co>'],
    ['x\r\nBcc: y@z.zz', 'a@b.co', '"x Bcc: y@z.zz" <a@b.co>'],
    [null, '"a b"@b.co', '"a b"@b.co'],
    ['N', 'ü@bücher.de', 'N <ü@xn--bcher-kva.de>'],
  ]
  for (const [name, email, written] of cases)
    it(written, () => assert.strictEqual(formatMailbox({ name, email }), written))
  it('rejects an invalid address', () =>
    expect(() => formatMailbox({ name: null, email: 'a@b.co, c@d.ef' }, 'to'))
      .to.throw(/^to: /)
      .that.has.property('name', 'InvalidDraftError'))
})
