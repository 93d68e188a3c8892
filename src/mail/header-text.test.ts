import { assert } from 'chai'
import fc from 'fast-check'
import { decodeHeaderText } from './header-text.ts'

const octets = (text: string): string => Buffer.from(text).toString('latin1')

const CASES: readonly (readonly [what: string, value: string, text: string])[] = [
  ['plain', ' Hello\r\n', 'Hello'],
  ['folded', ' Hello\r\n there\r\n', 'Hello there'],
  ['base64', '=?utf-8?B?R3LDvMOfZQ==?=', 'Grüße'],
  ['quoted-printable', '=?ISO-8859-1?Q?Gr=FC=DFe_an_alle?=', 'Grüße an alle'],
  ['two words, the space between them is none', '=?utf-8?q?Gr=C3=BC?= =?utf-8?q?=C3=9Fe?= there', 'Grüße there'],
  ['two words, folded', '=?utf-8?q?a?=\r\n =?utf-8?q?b?=', 'ab'],
  ['with a language', '=?utf-8*de?q?Gr=C3=BC=C3=9Fe?=', 'Grüße'],
  ['a charset of Japan', '=?ISO-2022-JP?B?GyRCJDMbKEI=?=', 'こ'],
  ['an unknown charset', '=?x-none?q?a?=', '=?x-none?q?a?='],
  ['UTF-8 as it is', octets('Grüße'), 'Grüße'],
  ['Latin-1 as it is', 'Gr\xfc\xdfe', 'Grüße'],
  ['line breaks and controls inside a word', '=?utf-8?q?a=0D=0Ab=00c?=', 'a b c'],
  ['half a pair', `${octets('x'.repeat(997))}=?utf-8?b?8J+Yig==?=`, `${'x'.repeat(997)}\ufffd`],
]

describe('text of header fields', () => {
  for (const [what, value, text] of CASES) it(what, () => assert.strictEqual(decodeHeaderText(value), text))
  it('any input gives one short line', () => {
    const hostile = fc.string({
      unit: fc.constantFrom('=?', '?=', '?', 'q', 'b', 'utf-8', '_', '=', '41', '\r\n ', '\xff', '\0', 'a', '*'),
      maxLength: 200,
    })
    fc.assert(
      fc.property(hostile, (value) => {
        const text = decodeHeaderText(value)
        assert.notMatch(text, /[\p{Cc}\p{Zl}\p{Zp}]/u)
        assert.ok(text.length <= 998 && text.isWellFormed())
      }),
    )
  })
  it('a hostile value is decoded in linear time', () => {
    for (const piece of ['=?a?q?', '=?', '?= ', '=?utf-8?b?', ' '.repeat(50)]) decodeHeaderText(piece.repeat(100_000))
  })
})
