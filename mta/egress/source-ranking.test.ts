import { assert } from 'chai'
import fc from 'fast-check'
import { newId } from '#src/platform/id.ts'
import { rankSources, type Weighted } from './source-ranking.ts'

const SOURCE = fc.record({ id: fc.uuid(), weight: fc.integer({ min: 1, max: 20 }) })
const POOL = fc.uniqueArray(SOURCE, { selector: ({ id }) => id, minLength: 2, maxLength: 8 })
const MESSAGE = fc.uuid()

function firstOf(messageId: string, sources: readonly Weighted[]): string | undefined {
  return rankSources(messageId, sources)[0]?.id
}

describe('the order of sources', () => {
  it("is the message's own: the same however the sources come, and all of them are in it", () => {
    fc.assert(
      fc.property(POOL, MESSAGE, (pool, messageId) => {
        const order = rankSources(messageId, pool).map(({ id }) => id)
        assert.deepEqual(
          order,
          rankSources(messageId, pool.toReversed()).map(({ id }) => id),
        )
        assert.deepEqual(order.toSorted(), pool.map(({ id }) => id).toSorted())
      }),
    )
  })

  it('a source that leaves moves its own messages only, each to its next; one that comes takes from all and changes nothing else', () => {
    fc.assert(
      fc.property(POOL, fc.nat(), MESSAGE, (pool, which, messageId) => {
        const leaving = pool[which % pool.length]
        const before = rankSources(messageId, pool).map(({ id }) => id)
        const after = rankSources(
          messageId,
          pool.filter((source) => source !== leaving),
        ).map(({ id }) => id)
        assert.deepEqual(
          after,
          before.filter((id) => id !== leaving?.id),
        )
      }),
    )
  })

  it('a weight that grows only draws messages to its source', () => {
    fc.assert(
      fc.property(POOL, fc.nat(), MESSAGE, (pool, which, messageId) => {
        const grown = pool[which % pool.length]
        const before = firstOf(messageId, pool)
        const after = firstOf(
          messageId,
          pool.map((source) => (source === grown ? { ...source, weight: source.weight * 2 } : source)),
        )
        assert.ok(after === before || after === grown?.id)
      }),
    )
  })

  it('gives shares as the weights are', () => {
    const pool = [
      { id: newId(), weight: 1 },
      { id: newId(), weight: 2 },
      { id: newId(), weight: 5 },
    ]
    const counts = new Map<string | undefined, number>()
    const messages = 8000
    for (let i = 0; i < messages; i++) {
      const first = firstOf(newId(), pool)
      counts.set(first, (counts.get(first) ?? 0) + 1)
    }
    // seven standard deviations of a binomial: it fails once in a trillion runs, or when it is wrong
    for (const { id, weight } of pool) {
      const [share, count] = [weight / 8, counts.get(id) ?? 0]
      assert.ok(
        Math.abs(count - messages * share) < 7 * Math.sqrt(messages * share * (1 - share)),
        `${weight}: ${count}`,
      )
    }
  })
})
