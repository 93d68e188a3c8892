import { setImmediate as nextTurn } from 'node:timers/promises'
import { assert } from 'chai'
import * as fc from 'fast-check'
import { type DkimKey, KeyObjects } from './key-objects.ts'
import { ed25519, key } from './sign-messages.test-data.ts'

const keyNamed = (keyId: string): DkimKey => ({ ...key(ed25519), keyId })

describe('key objects', () => {
  it('signatures at the same time use objects of their own, later ones the same again', async () => {
    const keys = new KeyObjects(1)
    const useTwice = async (): Promise<unknown[]> =>
      Promise.all([1, 2].map(() => keys.use(keyNamed('a'), (object) => nextTurn(object))))
    const first = await useTwice()
    assert.strictEqual(new Set(first).size, 2)
    assert.sameMembers(await useTwice(), first)
  })

  it('no more stay than the limit, however many signatures ran at the same time with however many keys', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 12 }), { maxLength: 8 }),
        fc.nat(5),
        async (rounds, maxSpare) => {
          const keys = new KeyObjects(3, maxSpare)
          for (const round of rounds) {
            const busy = new Set<unknown>()
            await Promise.all(
              round.map((keyId) =>
                keys.use(keyNamed(keyId), async (object) => {
                  assert.isFalse(busy.has(object), 'an object signs twice at the same time')
                  busy.add(object)
                  await nextTurn()
                  busy.delete(object)
                }),
              ),
            )
            assert.isAtMost(keys.spare, maxSpare)
            assert.isAtLeast(keys.spare, 0)
          }
        },
      ),
      { numRuns: 50 },
    ))

  it('the idle objects of an evicted key no longer count', async () => {
    const keys = new KeyObjects(1)
    await Promise.all([1, 2, 3].map(() => keys.use(keyNamed('a'), () => nextTurn())))
    assert.strictEqual(keys.spare, 2)
    await keys.use(keyNamed('b'), () => nextTurn())
    assert.strictEqual(keys.spare, 0)
  })

  it('an object whose key was evicted meanwhile is not kept', async () => {
    const keys = new KeyObjects(1)
    await Promise.all([1, 2].map(() => keys.use(keyNamed('a'), () => nextTurn())))
    assert.strictEqual(keys.spare, 1)
    await keys.use(keyNamed('a'), async () => {
      await keys.use(keyNamed('b'), () => nextTurn())
      assert.strictEqual(keys.spare, 0)
    })
    assert.strictEqual(keys.spare, 0)
  })
})
