import { assert } from 'chai'
import { openVault } from '#src/crypto/encryption.ts'
import { createOpener, keyOf, newSecret, sealSecret } from './secret.ts'

describe('webhook secrets', () => {
  const vault = openVault(Buffer.alloc(32, 1))

  it('are whsec_ and 32 random bytes in base64', () => {
    const secrets = Array.from({ length: 50 }, newSecret)
    for (const secret of secrets) assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
    assert.strictEqual(new Set(secrets).size, secrets.length)
  })

  it('come out of the seal as they went in', () => {
    const secret = newSecret()
    const sealed = sealSecret(vault, secret)
    assert.ok(!sealed.includes(secret) && !sealed.includes(Buffer.from(secret.slice(6), 'base64')))
    const open = createOpener(vault)
    assert.ok(open(sealed).standard.equals(keyOf(secret).standard))
    assert.strictEqual(open(sealed), open(Buffer.from(sealed)), 'and are remembered')
  })

  it('do not open under another master key, nor when changed', () => {
    const sealed = sealSecret(vault, newSecret())
    assert.throws(() => createOpener(openVault(Buffer.alloc(32, 2)))(sealed))
    sealed[sealed.length - 1]! ^= 1
    assert.throws(() => createOpener(vault)(sealed))
    assert.throws(() => createOpener(vault)(Buffer.alloc(0)))
  })
})
