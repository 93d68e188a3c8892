import { assert } from 'chai'
import * as fc from 'fast-check'
import { fromHex } from './compose.test-data.ts'
import { splitMessage } from './message.ts'
import { encodeQuotedPrintable } from './quoted-printable.ts'
import { makeTextPart, withCrlf } from './text-part.ts'

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
