import { assert } from 'chai'
import * as fc from 'fast-check'
import { fromHex } from './compose.test-data.ts'
import { withCrlf } from './mime-writer.ts'
import { encodeQuotedPrintable } from './quoted-printable.ts'

/** The same encoding, octet by octet. */
function encodeByOctets(text: Buffer): string {
  let out = ''
  let column = 0
  for (let i = 0; i < text.length; i++) {
    const c = text[i] ?? 0
    if (c === 13) {
      out += '\r\n'
      i++
      column = 0
      continue
    }
    const isLast = i + 1 === text.length || text[i + 1] === 13
    const isSpace = c === 9 || c === 32
    const isFrom = column === 0 && text.toString('latin1', i, i + 5) === 'From '
    const isLiteral = (isSpace ? !isLast : c > 32 && c < 127 && c !== 61) && !isFrom
    const octet = isLiteral ? String.fromCharCode(c) : `=${c.toString(16).toUpperCase().padStart(2, '0')}`
    if (column + octet.length > (isLast ? 76 : 75)) {
      out += '=\r\n'
      column = 0
      i--
      continue
    }
    column += octet.length
    out += octet
  }
  return out
}

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
        assert.strictEqual(encoded, encodeByOctets(Buffer.from(given)))
      }),
      { numRuns: 3000 },
    )
  })
})
