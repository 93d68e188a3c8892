import { assert } from 'chai'
import { createEncryption, createRoleEncryption, digestsFor, keyIdOf, readWithValidKeys } from './encryption.ts'
import type { KeyRole, Purpose } from './purposes.ts'

const MASTER = Buffer.alloc(32, 7)
/** Encrypted by version 0.1.0 with `MASTER`. */
const OLD_DKIM = Buffer.from('AdxO/WwrKn0b+NOvtGuMwU9hynIHq0j0OOIJ+eNl1vpcxFBQPf0F', 'base64')

/** What each role may do; everything else must fail. */
const RIGHTS: readonly [Purpose, reads: readonly KeyRole[], writes: readonly KeyRole[]][] = [
  ['dkim', ['outbound'], ['outbound', 'api', 'worker']],
  ['account-secret', ['outbound', 'worker'], ['outbound', 'worker', 'api']],
  ['webhook', ['worker'], ['worker', 'api']],
  ['oauth-verifier', ['api'], ['api']],
  ['acme-account', ['worker'], ['worker']],
  ['certificate-web', ['api'], ['api', 'worker']],
  ['certificate-smtp', ['submission', 'inbound'], ['submission', 'inbound', 'worker']],
  ['operator', [], []],
]
const ROLES: readonly KeyRole[] = ['api', 'outbound', 'submission', 'inbound', 'sandbox', 'worker']

/** The value as versions before the key id stored it. */
function withoutKeyId(value: Buffer): Buffer {
  return Buffer.concat([Buffer.of((value[0] ?? 0) - 2), value.subarray(5)])
}

describe('encryption', () => {
  const full = createEncryption(MASTER)

  for (const [purpose, reads, writes] of RIGHTS)
    for (const role of ROLES) {
      const mayRead = reads.includes(role)
      const mayWrite = writes.includes(role)
      it(`${role}: ${mayRead ? 'reads' : 'cannot read'} and ${mayWrite ? 'writes' : 'cannot write'} ${purpose}`, () => {
        const encryption = createRoleEncryption([MASTER], [role])
        const read = (): string => encryption.decrypt(purpose, full.encrypt(purpose, 'secret')).toString()
        const write = (): string => full.decrypt(purpose, encryption.encrypt(purpose, 'secret')).toString()
        if (mayRead) assert.strictEqual(read(), 'secret')
        else assert.throws(read, /this role has no key to \w+ /)
        if (mayWrite) assert.strictEqual(write(), 'secret')
        else assert.throws(write, /this role has no key to \w+ /)
      })
    }

  it('gives submission and inbound no key that decrypts, but that of their certificates', () => {
    const [submission, inbound] = (['submission', 'inbound'] as const).map((role) =>
      createRoleEncryption([MASTER], [role]),
    )
    assert.throws(() => submission?.mac('return-path', 'x'), /no key/)
    assert.deepEqual(inbound?.mac('return-path', 'x'), full.mac('return-path', 'x'))
  })

  it('reads what earlier versions encrypted with a symmetric key', () => {
    assert.strictEqual(full.decrypt('dkim', OLD_DKIM).toString(), 'an old key')
    assert.strictEqual(createRoleEncryption([MASTER], ['outbound']).decrypt('dkim', OLD_DKIM).toString(), 'an old key')
    assert.throws(() => createRoleEncryption([MASTER], ['api']).decrypt('dkim', OLD_DKIM), /no key/)
  })

  describe('with a new key and the one before', () => {
    const NEW = Buffer.alloc(32, 9)
    const rotated = createEncryption(NEW, MASTER)
    for (const purpose of ['dkim', 'oauth-verifier'] as const)
      it(`encrypts ${purpose} with the new key, and decrypts what either encrypted`, () => {
        const value = rotated.encrypt(purpose, 'secret')
        assert.strictEqual(keyIdOf(value), createEncryption(NEW).keyId.toString('hex'))
        assert.strictEqual(createEncryption(NEW).decrypt(purpose, value).toString(), 'secret')
        assert.strictEqual(rotated.decrypt(purpose, full.encrypt(purpose, 'old')).toString(), 'old')
        assert.strictEqual(rotated.decrypt(purpose, withoutKeyId(full.encrypt(purpose, 'older'))).toString(), 'older')
        assert.throws(() => full.decrypt(purpose, value), /MASTER_KEY is not the key/)
      })

    it('verifies what either issued, and issues with the new key', () => {
      const [issued, before] = [rotated.mac('return-path', 'x'), full.mac('return-path', 'x')]
      assert.deepEqual(issued, createEncryption(NEW).mac('return-path', 'x'))
      assert.deepEqual(
        digestsFor(rotated, 'return-path').map((digest) => digest(Buffer.from('x'))),
        [issued, before],
      )
      const readWith = (wanted: Buffer): string | null =>
        readWithValidKeys(rotated, (keys) => (keys.mac('return-path', 'x').equals(wanted) ? 'read' : null))
      assert.deepEqual([issued, before, Buffer.from('no')].map(readWith), ['read', 'read', null])
    })

    it('passes both keys to a role', () => {
      const outbound = createRoleEncryption([NEW, MASTER], ['outbound'])
      for (const by of [rotated, full])
        assert.strictEqual(outbound.decrypt('dkim', by.encrypt('dkim', 'a')).toString(), 'a')
      const api = createRoleEncryption([NEW, MASTER], ['api'])
      assert.strictEqual(keyIdOf(api.encrypt('dkim', 'a')), keyIdOf(rotated.encrypt('dkim', 'a')))
      assert.throws(() => api.decrypt('dkim', full.encrypt('dkim', 'a')), /this role has no key/)
    })
  })

  for (const purpose of ['dkim', 'oauth-verifier'] as const)
    it(`refuses a value of ${purpose} that was changed, cut, or encrypted for something else`, () => {
      const value = full.encrypt(purpose, 'secret')
      for (let i = 0; i < value.length; i++) {
        const changed = Buffer.from(value)
        changed[i] = (changed[i] ?? 0) ^ 1
        assert.throws(() => full.decrypt(purpose, changed))
        assert.throws(() => full.decrypt(purpose, value.subarray(0, i)))
      }
      assert.throws(() => full.decrypt('webhook', value), /MASTER_KEY is not the key/)
      assert.throws(() => createEncryption(Buffer.alloc(32, 8)).decrypt(purpose, value), /MASTER_KEY is not the key/)
    })
})
