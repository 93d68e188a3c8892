import { assert } from 'chai'
import * as fc from 'fast-check'
import { base64Length, writeBase64 } from './base64-lines.ts'

describe('base64 in lines', () => {
  it('is that of Node, cut after 76 characters, for any octets and any place', () =>
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), fc.nat(5), (octets, at) => {
        const file = Buffer.from(octets)
        const expected = (file.toString('base64').match(/.{1,76}/g) ?? []).join('\r\n')
        assert.strictEqual(base64Length(file), expected.length)
        const out = Buffer.alloc(at + expected.length + 1, '#')
        assert.strictEqual(writeBase64(file, out, at), at + expected.length)
        assert.strictEqual(out.toString('latin1'), `${'#'.repeat(at)}${expected}#`)
      }),
    ))
})
