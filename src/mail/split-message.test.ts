import { assert } from 'chai'
import * as fc from 'fast-check'
import { splitMessage } from './split-message.ts'

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
