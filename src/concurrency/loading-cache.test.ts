import { assert } from 'chai'
import { createLoadingCache } from './loading-cache.ts'

describe('loading cache', () => {
  const clock = { now: () => 0 }
  const keep = (): ReturnType<typeof createLoadingCache<number>> =>
    createLoadingCache<number>(clock, { max: 10, ttlMs: 1000 })

  it('loads once for concurrent and later calls, and again after delete', async () => {
    const kept = keep()
    let asked = 0
    const ask = (): Promise<number> => Promise.resolve(++asked)
    assert.deepEqual(await Promise.all([kept.get('a', ask), kept.get('a', ask), kept.get('b', ask)]), [1, 1, 2])
    assert.strictEqual(await kept.get('a', ask), 1)
    kept.delete('a')
    assert.strictEqual(await kept.get('a', ask), 3)
  })

  it('rejects all callers of a failed load, and loads again', async () => {
    const kept = keep()
    const question = Promise.withResolvers<number>()
    const waiting = [kept.get('a', () => question.promise), kept.get('a', () => Promise.resolve(1))]
    question.reject(new Error('away'))
    for (const one of waiting) await assert.isRejected(one, /away/)
    assert.strictEqual(await kept.get('a', () => Promise.resolve(2)), 2)
  })

  it('a load that fails late does not remove a newer entry', async () => {
    const kept = keep()
    const question = Promise.withResolvers<number>()
    const late = kept.get('a', () => question.promise)
    kept.delete('a')
    await kept.get('a', () => Promise.resolve(1))
    question.reject(new Error('away'))
    await assert.isRejected(late)
    assert.strictEqual(await kept.get('a', () => Promise.resolve(2)), 1)
  })
})
