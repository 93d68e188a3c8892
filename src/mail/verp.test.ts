import { createHmac } from 'node:crypto'
import { assert } from 'chai'
import fc from 'fast-check'
import { idOfHex } from '#src/platform/id.ts'
import { parseReturnPath, returnPathOf } from './verp.ts'

const mac = (data: Buffer): Buffer => createHmac('sha256', 'key').update(data).digest()
const other = (data: Buffer): Buffer => createHmac('sha256', 'other').update(data).digest()
const ids = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => idOfHex(Buffer.from(bytes).toString('hex')))

describe('return-paths', () => {
  it('identify one recipient, in any letter case, within 64 characters', () => {
    fc.assert(
      fc.property(ids, fc.nat(49), (messageId, n) => {
        const path = returnPathOf({ messageId, n }, mac, 'bounces.example.com')
        assert.ok(path.indexOf('@') <= 64)
        for (const spelling of [path, path.toUpperCase()])
          assert.deepEqual(parseReturnPath(spelling, [other, mac]), { messageId, n })
      }),
    )
  })
  it('cannot be forged or changed without the key', () => {
    const path = returnPathOf({ messageId: idOfHex('0'.repeat(32)), n: 0 }, mac, 'b.example')
    for (let i = 2; i < 47; i++) {
      const changed = path.slice(0, i) + (path[i] === 'a' ? 'b' : 'a') + path.slice(i + 1)
      assert.strictEqual(parseReturnPath(changed, [mac]), null, changed)
    }
    assert.strictEqual(parseReturnPath(path, [other]), null)
    for (const address of [
      '',
      'b-@x',
      'postmaster@b.example',
      `${path.slice(0, 30)}@b.example`,
      `b-${'1'.repeat(45)}@x`,
    ])
      assert.strictEqual(parseReturnPath(address, [mac]), null)
  })
})
