import { assert } from 'chai'
import * as fc from 'fast-check'
import { createEncryption } from '#src/crypto/encryption.ts'
import { newId } from '#src/platform/id.ts'
import { createAddressTokens, type AddressRef } from './address-token.ts'
import { createTrackingTokens } from './tokens.ts'

const encryption = createEncryption(Buffer.alloc(32, 7))
const tokens = createAddressTokens(encryption)
const REF: AddressRef = { messageId: newId(), n: 3, workspaceId: newId(), address: 'Anna+news@example.org' }

describe('the token of an address', () => {
  it('returns what was written, for any address, and is the same at every attempt', () => {
    fc.assert(
      fc.property(fc.uuid(), fc.uuid(), fc.nat(65_535), fc.emailAddress(), (messageId, workspaceId, n, address) => {
        const ref = { messageId, workspaceId, n, address }
        const token = tokens.write(ref)
        assert.match(token, /^[A-Za-z0-9_-]+$/)
        assert.deepEqual(tokens.read(token), ref)
        assert.strictEqual(tokens.write(ref), token)
      }),
    )
    assert.deepEqual(
      tokens.read(tokens.write({ ...REF, address: 'jürgen@bücher.example' }))?.address,
      'jürgen@bücher.example',
    )
  })
  it('does not show the address', () => {
    const text = Buffer.from(tokens.write(REF), 'base64url').toString('latin1')
    assert.notMatch(text, /anna|example/i)
  })
  it('is refused when any character of it changes, and from another installation', () => {
    const token = tokens.write(REF)
    for (const [i, letter] of token.split('').entries()) {
      const forged = token.slice(0, i) + (letter === 'A' ? 'B' : 'A') + token.slice(i + 1)
      assert.isNull(tokens.read(forged), String(i))
    }
    for (const one of ['', 'x', token.slice(0, -1), `${token}A`, 'A'.repeat(104), 'A'.repeat(2000)])
      assert.isNull(tokens.read(one))
    assert.isNull(createAddressTokens(createEncryption(Buffer.alloc(32, 8))).read(token))
  })
  it('is no token of a contact, and the reverse', () => {
    const contacts = createTrackingTokens(encryption)
    // as long as the token of a contact
    const token = tokens.write({ ...REF, address: `${'a'.repeat(32)}@example.org` })
    const ofContact = contacts.list({ ...REF, contactId: newId(), audienceId: null, senderId: null })
    assert.strictEqual(token.length, ofContact.length)
    assert.isNull(contacts.readList(token))
    assert.isNull(tokens.read(ofContact))
  })
})
