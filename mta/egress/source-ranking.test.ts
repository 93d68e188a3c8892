import { assert } from 'chai'
import fc from 'fast-check'
import { newId } from '#src/platform/id.ts'
import { rankSources, type WeightedSource } from './source-ranking.ts'

const SOURCE = fc.record({ id: fc.uuid(), weight: fc.integer({ min: 1, max: 20 }) })
const POOL = fc.uniqueArray(SOURCE, { selector: ({ id }) => id, minLength: 2, maxLength: 8 })
const MESSAGE = fc.uuid()

function firstOf(messageId: string, sources: readonly WeightedSource[]): string | undefined {
  return rankSources(messageId, sources)[0]?.id
}

describe('source ranking', () => {
  it('depends on the message only, not on the order of the sources, and contains each source', () => {
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

  it('a removed source moves its own messages only; an added one gets its share from all others', () => {
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

  it('a larger weight only moves messages to that source', () => {
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

  it('each source gets a share proportional to its weight', () => {
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
    // seven standard deviations of a binomial: a correct ranking fails once in a trillion runs
    for (const { id, weight } of pool) {
      const [share, count] = [weight / 8, counts.get(id) ?? 0]
      assert.ok(
        Math.abs(count - messages * share) < 7 * Math.sqrt(messages * share * (1 - share)),
        `${weight}: ${count}`,
      )
    }
  })
})
