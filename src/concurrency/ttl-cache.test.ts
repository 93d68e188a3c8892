import { assert } from 'chai'
import { createTtlCache } from './ttl-cache.ts'

function setup(max = 3): { shelf: ReturnType<typeof createTtlCache<string>>; at: (ms: number) => void } {
  let now = 1000
  const shelf = createTtlCache<string>({ now: () => now }, { max, ttlMs: 100 })
  return {
    shelf,
    at: (ms) => {
      now = ms
    },
  }
}

describe('TTL cache', () => {
  it('returns entries within their TTL', () => {
    const { shelf, at } = setup()
    shelf.set('a', 'A')
    at(1099)
    assert.strictEqual(shelf.get('a'), 'A')
    at(1100)
    assert.strictEqual(shelf.get('a'), undefined)
    assert.strictEqual(shelf.size, 0)
  })

  it('expires entries when the clock is set back', () => {
    const { shelf, at } = setup()
    shelf.set('a', 'A')
    at(999)
    assert.strictEqual(shelf.get('a'), undefined)
  })

  it('removes the oldest entry; setting an entry again makes it the newest', () => {
    const { shelf } = setup()
    for (const name of ['a', 'b', 'c', 'a', 'd']) shelf.set(name, name.toUpperCase())
    assert.deepEqual(
      ['a', 'b', 'c', 'd'].map((name) => shelf.get(name)),
      ['A', undefined, 'C', 'D'],
    )
    assert.strictEqual(shelf.size, 3)
  })

  it('never exceeds its maximum', () => {
    const { shelf } = setup(100)
    for (let i = 0; i < 10_000; i++) shelf.set(String(i), 'x')
    assert.strictEqual(shelf.size, 100)
  })
})
