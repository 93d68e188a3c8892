import { assert } from 'chai'
import { createLoadingCache } from './loading-cache.ts'

describe('kept answers', () => {
  const clock = { now: () => 0 }
  const keep = (): ReturnType<typeof createLoadingCache<number>> =>
    createLoadingCache<number>(clock, { max: 10, ttlMs: 1000 })

  it('ask once for all who ask at once and later, and again for what was forgotten', async () => {
    const kept = keep()
    let asked = 0
    const ask = (): Promise<number> => Promise.resolve(++asked)
    assert.deepEqual(await Promise.all([kept.get('a', ask), kept.get('a', ask), kept.get('b', ask)]), [1, 1, 2])
    assert.strictEqual(await kept.get('a', ask), 1)
    kept.delete('a')
    assert.strictEqual(await kept.get('a', ask), 3)
  })

  it('tell all of a question that fails, and ask anew', async () => {
    const kept = keep()
    const question = Promise.withResolvers<number>()
    const waiting = [kept.get('a', () => question.promise), kept.get('a', () => Promise.resolve(1))]
    question.reject(new Error('away'))
    for (const one of waiting) await assert.isRejected(one, /away/)
    assert.strictEqual(await kept.get('a', () => Promise.resolve(2)), 2)
  })

  it('that fail late do not forget what was asked since', async () => {
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
