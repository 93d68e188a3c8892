import { assert } from 'chai'
import * as fc from 'fast-check'
import { runDialog } from '#test/support/smtp-dialogs.ts'
import { TRANSACTION_DIALOGS } from './transaction.test-data.ts'
import { dotStuff, endOfData } from './transaction.ts'

for (const [name, dialogs] of Object.entries(TRANSACTION_DIALOGS))
  describe(`a transaction, ${name}: dialogs`, () => {
    for (const dialog of dialogs) it(`${dialog.n}. ${dialog.title}`, () => runDialog(dialog))
  })

const DOUBLED: readonly (readonly [data: string, onTheWire: string])[] = [
  ['', '.\r\n'],
  ['.', '..\r\n.\r\n'],
  ['.\r\n', '..\r\n.\r\n'],
  ['..\r\n', '...\r\n.\r\n'],
  ['a', 'a\r\n.\r\n'],
  ['a\r\n', 'a\r\n.\r\n'],
  ['a\r', 'a\r\r\n.\r\n'],
  ['a\n', 'a\n\r\n.\r\n'],
  ['\n', '\n\r\n.\r\n'],
  ['a.b\r\n', 'a.b\r\n.\r\n'],
  ['a\r\n.b\r\n.\r\n..\r\n', 'a\r\n..b\r\n..\r\n...\r\n.\r\n'],
  ['a\n.\nMAIL FROM:<x>\n', 'a\n..\nMAIL FROM:<x>\n\r\n.\r\n'],
  ['\n.\n.\n', '\n..\n..\n\r\n.\r\n'],
  ['\n..\n', '\n...\n\r\n.\r\n'],
  ['a\r.\rb\r\n', 'a\r.\rb\r\n.\r\n'],
]

describe('content on the wire', () => {
  for (const [data, onTheWire] of DOUBLED)
    it(`${JSON.stringify(data)} is sent as ${JSON.stringify(onTheWire)}`, () => {
      const bytes = Buffer.from(data)
      assert.strictEqual(Buffer.concat([dotStuff(bytes), endOfData(bytes)]).toString(), onTheWire)
    })

  it('is not copied when no line starts with a dot', () => {
    const data = Buffer.from('a.\r\n b.\r\n')
    assert.strictEqual(dotStuff(data), data)
  })

  it('has no line of a single dot before its end, for any bytes, and decodes to the message', () => {
    const bytes = fc
      .array(fc.constantFrom('.', '\r\n', '\n', '\r', 'a', '\u{e9}'), { maxLength: 30 })
      .map((parts) => parts.join(''))
    fc.assert(
      fc.property(bytes, (text) => {
        const data = Buffer.from(text)
        const wire = Buffer.concat([dotStuff(data), endOfData(data)]).toString()
        assert.match(wire, /^\.\r\n$|\r\n\.\r\n$/)
        const inside = wire.slice(0, -3)
        assert.notMatch(inside, /(?:^|\n)\.(?:\r?\n|$)/)
        const undone = inside.replaceAll(/(^|\n)\./g, '$1')
        assert.ok(undone === text || undone === `${text}\r\n`)
      }),
      { numRuns: 500 },
    )
  })
})
