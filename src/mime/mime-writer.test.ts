import { assert } from 'chai'
import { HEX } from './compose.test-data.ts'
import type { HeaderField } from '#src/mail/split-message.ts'
import { makeField } from './field.ts'
import { joinReady } from './body-pieces.ts'
import { writeContent } from './mime-writer.ts'

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
      const part = writeContent({ text, html: '' }, HEX)
      assert.strictEqual(part.fields[1]?.line, `Content-Transfer-Encoding: ${encoding}\r\n`)
      const body = joinReady(part.pieces, 0).body.toString('latin1')
      assert.match(body, /^[\t\r\n\f -~]*$/)
      if (encoding === 'base64') assert.strictEqual(Buffer.from(body, 'base64').toString(), text)
    })
  }
})

describe('fields of a body', () => {
  /** The field as `makeField` encodes and folds it. */
  const remake = ({ line }: HeaderField): HeaderField => {
    const [name = '', ...value] = line.replaceAll('\r\n', '').split(': ')
    return makeField(name, value.join(': '))
  }
  const texts: readonly [what: string, text: string][] = [
    ['7bit', 'x'],
    ['quoted-printable', 'ü in ASCII'],
    ['base64', 'üü'],
    ['a longer boundary', `${HEX}_ ${HEX}__`],
    ['a boundary longer than a line', HEX + '_'.repeat(900)],
  ]
  for (const [what, text] of texts) {
    it(`are folded like any other: ${what}`, () => {
      const bodies = [
        { text, html: '' },
        { text: '', html: text },
        { text, html: text },
      ]
      const fields = bodies.flatMap((body) => writeContent(body, HEX).fields)
      assert.deepEqual(fields, fields.map(remake))
    })
  }
})
