import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto'
import { assert } from 'chai'
import { generateDkimKeys, txtStrings } from './dkim-key.ts'

/** RFC 8410 4: the bytes before the 32 octets of an Ed25519 key in SubjectPublicKeyInfo. */
const ED25519_SPKI = Buffer.from('302a300506032b6570032100', 'hex')

const published = ({ dnsValue }: { dnsValue: string }): Buffer =>
  Buffer.from(dnsValue.slice(dnsValue.indexOf('p=') + 2), 'base64')

describe('generateDkimKeys', () => {
  it('creates pairs whose public key verifies what the private key signs', async () => {
    const [rsa, ed25519] = await generateDkimKeys()
    assert.deepEqual([rsa.algorithm, ed25519.algorithm], ['rsa-sha256', 'ed25519-sha256'])
    assert.match(rsa.dnsValue, /^v=DKIM1; k=rsa; p=[A-Za-z0-9+/]+=*$/)
    assert.match(ed25519.dnsValue, /^v=DKIM1; k=ed25519; p=[A-Za-z0-9+/]{43}=$/)

    const pairs = [
      [rsa, published(rsa)],
      [ed25519, Buffer.concat([ED25519_SPKI, published(ed25519)])],
    ] as const
    for (const [{ privateKey }, spki] of pairs) {
      const own = createPrivateKey({ key: privateKey, type: 'pkcs8', format: 'der' })
      const hash = own.asymmetricKeyType === 'rsa' ? 'sha256' : null
      const publicKey = createPublicKey({ key: spki, type: 'spki', format: 'der' })
      assert.ok(verify(hash, Buffer.from('words'), publicKey, sign(hash, Buffer.from('words'), own)))
    }
    assert.strictEqual(
      createPrivateKey({ key: rsa.privateKey, type: 'pkcs8', format: 'der' }).asymmetricKeyDetails?.modulusLength,
      2048,
    )
  })

  it('creates new keys each time', async () => {
    const [[a], [b]] = await Promise.all([generateDkimKeys(), generateDkimKeys()])
    assert.notStrictEqual(a.dnsValue, b.dnsValue)
  })
})

describe('txtStrings', () => {
  for (const length of [0, 1, 255, 256, 410, 600]) {
    it(`splits ${length} octets`, () => {
      const value = 'v'.repeat(length)
      assert.strictEqual(txtStrings(value).join(''), value)
      assert.ok(txtStrings(value).every((part) => part.length <= 255))
      assert.strictEqual(txtStrings(value).length, Math.ceil(length / 255))
    })
  }
})
