import { assert } from 'chai'
import { createEncryption } from '#src/crypto/encryption.ts'
import { createSecretDecryptor, signingKeyOf, newSecret, encryptSecret } from './secret.ts'

describe('webhook secrets', () => {
  const encryption = createEncryption(Buffer.alloc(32, 1))

  it('are whsec_ and 32 random bytes in base64', () => {
    const secrets = Array.from({ length: 50 }, newSecret)
    for (const secret of secrets) assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
    assert.strictEqual(new Set(secrets).size, secrets.length)
  })

  it('are the same after encryption and decryption', () => {
    const secret = newSecret()
    const sealed = encryptSecret(encryption, secret)
    assert.ok(!sealed.includes(secret) && !sealed.includes(Buffer.from(secret.slice(6), 'base64')))
    const open = createSecretDecryptor(encryption)
    assert.ok(open(sealed).standard.equals(signingKeyOf(secret).standard))
    assert.strictEqual(open(sealed), open(Buffer.from(sealed)), 'and are remembered')
  })

  it('cannot be decrypted with another master key, nor when changed', () => {
    const sealed = encryptSecret(encryption, newSecret())
    assert.throws(() => createSecretDecryptor(createEncryption(Buffer.alloc(32, 2)))(sealed))
    sealed[sealed.length - 1]! ^= 1
    assert.throws(() => createSecretDecryptor(encryption)(sealed))
    assert.throws(() => createSecretDecryptor(encryption)(Buffer.alloc(0)))
  })
})
