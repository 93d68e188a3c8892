import { assert, expect } from 'chai'
import * as fc from 'fast-check'
import { cleanText, encodeWords, isPlain } from './encoded-word.ts'
import { encodeText, formatMailbox, makeField } from './field.ts'
import { splitMessage } from './message.ts'
import { encodeQuotedPrintable } from './quoted-printable.ts'
import { makeTextPart, withCrlf } from './text-part.ts'

const fromHex = (text: string): Buffer =>
  Buffer.from(
    text.replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  )

describe('quoted-printable', () => {
  const cases: readonly [text: string, encoded: string][] = [
    ['', ''],
    ['a=b', 'a=3Db'],
    ['ü', '=C3=BC'],
    ['a \r\nb\t\r\n', 'a=20\r\nb=09\r\n'],
    ['a ', 'a=20'],
    ['\0\f', '=00=0C'],
    ['From me\r\nFrom', '=46rom me\r\nFrom'],
    ['x'.repeat(76), 'x'.repeat(76)],
    ['x'.repeat(77), `${'x'.repeat(75)}=\r\nxx`],
    [`${'x'.repeat(76)}\r\ny`, `${'x'.repeat(76)}\r\ny`],
    [`${'x'.repeat(74)}ü`, `${'x'.repeat(74)}=\r\n=C3=BC`],
    [`${'x'.repeat(75)}From x`, `${'x'.repeat(75)}=\r\n=46rom x`],
  ]
  for (const [text, encoded] of cases)
    it(JSON.stringify(text.slice(0, 80)), () => assert.strictEqual(encodeQuotedPrintable(Buffer.from(text)), encoded))

  it('decodes to the original text, in lines of 76', () => {
    const odd = fc.constantFrom('a', ' ', '\t', '\r\n', 'ü', '=', 'From ', '😀', '\0')
    const text = fc
      .oneof(fc.string({ unit: 'binary', maxLength: 300 }), fc.string({ unit: odd, maxLength: 200 }))
      .map(withCrlf)
    fc.assert(
      fc.property(text, (given) => {
        const encoded = encodeQuotedPrintable(Buffer.from(given))
        assert.ok(
          encoded
            .split('\r\n')
            .every(
              (line) =>
                line.length <= 76 && /^[\t !-~]*$/.test(line) && !/[\t ]$/.test(line) && !line.startsWith('From '),
            ),
        )
        assert.deepEqual(fromHex(encoded.replaceAll('=\r\n', '')), Buffer.from(given))
      }),
      { numRuns: 3000 },
    )
  })
})

describe('text parts', () => {
  const cases: readonly [what: string, text: string, encoding: string][] = [
    ['ASCII', 'Hi\r\n', '7bit'],
    ['nothing', '', '7bit'],
    ['a line of 998', `${'x'.repeat(998)}\r\n${'y'.repeat(998)}`, '7bit'],
    ['a line of 999', `x\r\n${'y'.repeat(999)}\r\nz`, 'quoted-printable'],
    ['a last line of 999', `x\r\n${'y'.repeat(999)}`, 'quoted-printable'],
    ['NUL', 'a\0b', 'quoted-printable'],
    ['From at a line start', 'a\r\nFrom b', 'quoted-printable'],
    ['From at the start', 'From b', 'quoted-printable'],
    ['some UTF-8', 'Grüße aus Köln', 'quoted-printable'],
    ['mostly UTF-8', 'こんにちは', 'base64'],
  ]
  for (const [what, text, encoding] of cases) {
    it(`${what}: ${encoding}`, () => {
      const part = makeTextPart('text/plain', text)
      assert.strictEqual(part.fields[1]?.line, `Content-Transfer-Encoding: ${encoding}\r\n`)
      assert.match(part.body, /^[\t\r\n\f -~]*$/)
      if (encoding === 'base64') assert.strictEqual(Buffer.from(part.body, 'base64').toString(), text)
    })
  }

  it('converts all line ends to CRLF', () => {
    assert.strictEqual(withCrlf('a\rb\nc\r\nd\n\re\r\r\nf'), 'a\r\nb\r\nc\r\nd\r\n\r\ne\r\n\r\nf')
    assert.strictEqual(withCrlf('a\nb\n'), 'a\r\nb\r\n')
  })
})

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

describe('splitMessage', () => {
  const cases: readonly [bytes: string, names: readonly string[], body: string][] = [
    ['', [], ''],
    ['\r\nbody', [], 'body'],
    ['A: 1\r\n\r\n', ['a'], ''],
    ['A: 1', ['a'], ''],
    ['A: 1\r\nB:2\r\n folded\r\n\t twice\r\n\r\n\r\nbody', ['a', 'b'], '\r\nbody'],
    ['A: 1\nB : 2\n\nbody\n', ['a', 'b'], 'body\n'],
    ['A: 1\r\n \r\nB: 2\r\n\r\nx', ['a', 'b'], 'x'],
    ['no colon\r\nA: 1\r\n\r\nx', ['', 'a'], 'x'],
  ]
  for (const [bytes, names, body] of cases) {
    it(JSON.stringify(bytes), () => {
      const message = splitMessage(Buffer.from(bytes))
      assert.deepEqual(
        message.fields.map(({ name }) => name),
        names,
      )
      assert.strictEqual(message.body.toString(), body)
    })
  }

  it('keeps every octet', () => {
    const unit = fc.constantFrom('A', ':', ' ', '\t', '\r', '\n', '\r\n', '\r\n', '\u00ff')
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 40 }), (list) => {
        const bytes = Buffer.from(list.join(''), 'latin1')
        const { fields, head, body } = splitMessage(bytes)
        assert.deepEqual(Buffer.concat([Buffer.from(head, 'latin1'), body]), bytes)
        assert.match(head.slice(fields.map(({ line }) => line).join('').length), /^(?:\r?\n)?$/)
      }),
      { numRuns: 5000 },
    )
  })
})
