import { createPrivateKey, createPublicKey, hash, type KeyObject, verify } from 'node:crypto'
import { assert } from 'chai'
import type { TimeBudget } from '#src/concurrency/time-budget.ts'
import { createDataSigner, type DataSigner } from './data-signer.ts'
import { ed25519, key, rsa } from './sign-messages.test-data.ts'

const [RSA, ED25519] = [key(rsa), key(ed25519)]
const DATA = Buffer.from('from:a@example.com')
const QUEUED = 64

function publicKeyOf({ privateKey }: typeof rsa): KeyObject {
  return createPublicKey(createPrivateKey({ key: privateKey, format: 'der', type: 'pkcs8' }))
}

/** Counts what it runs. */
function timeBudget(isLeft: boolean): TimeBudget & { runs: number } {
  const budget = {
    isLeft,
    runs: 0,
    spend: <T>(work: () => T): T => {
      budget.runs++
      return work()
    },
  }
  return budget
}

/** How many of the queued RSA signatures are made before this one. */
async function countEarlier(sign: DataSigner, makeOne: () => Promise<Buffer>): Promise<number> {
  let made = 0
  const queued = Array.from({ length: QUEUED }, async () => {
    await sign(RSA, DATA)
    made++
  })
  await makeOne()
  const earlier = made
  await Promise.all(queued)
  return earlier
}

describe('a signature of octets', () => {
  for (const isUrgent of [false, true])
    it(`verifies: ${isUrgent ? 'urgent' : 'not urgent'}`, async () => {
      const sign = createDataSigner(10)
      const queued = sign(RSA, DATA)
      assert.isTrue(verify('sha256', DATA, publicKeyOf(rsa), await sign(RSA, DATA, isUrgent)))
      assert.isTrue(verify('sha256', DATA, publicKeyOf(rsa), await queued))
      const digest = hash('sha256', DATA, 'buffer')
      assert.isTrue(verify(null, digest, publicKeyOf(ed25519), await sign(ED25519, DATA, isUrgent)))
    })

  for (const one of [RSA, ED25519])
    it(`is made before those that are queued if it is urgent: ${one.algorithm}`, async () => {
      const budget = timeBudget(true)
      const sign = createDataSigner(10, budget)
      assert.strictEqual(await countEarlier(sign, () => sign(one, DATA, true)), 0)
      assert.strictEqual(budget.runs, 1)
    })

  it('is made in order if it is not urgent, or no time is left for urgent ones', async () => {
    for (const [isUrgent, isLeft] of [
      [false, true],
      [true, false],
    ] as const) {
      const budget = timeBudget(isLeft)
      const sign = createDataSigner(10, budget)
      assert.isAbove(await countEarlier(sign, () => sign(RSA, DATA, isUrgent)), QUEUED / 2)
      assert.strictEqual(budget.runs, 0)
    }
  })

  it('is left to other threads if none is queued', async () => {
    const budget = timeBudget(true)
    const sign = createDataSigner(10, budget)
    await sign(RSA, DATA)
    await sign(RSA, DATA, true)
    assert.strictEqual(budget.runs, 0)
  })

  it('names a key that cannot be read', async () => {
    const sign = createDataSigner(10)
    const bad = { ...RSA, keyId: 'bad', privateKey: 'nonsense' }
    await assert.isRejected(sign(bad, DATA), /DKIM key bad .* cannot be read/)
    const queued = sign(RSA, DATA)
    await assert.isRejected(sign(bad, DATA, true), /DKIM key bad .* cannot be read/)
    await queued
  })
})
