import { assert } from 'chai'
import { type BatcherOptions, createBatcher } from './batcher.ts'

const turn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve)
  })

describe('batcher', () => {
  it('batches concurrent items in order and resolves each', async () => {
    const batches: number[][] = []
    const batcher = createBatcher<number, number>(
      (items) => {
        batches.push(items)
        return Promise.resolve(items.map((item) => item * 2))
      },
      { max: 3, concurrency: 1 },
    )
    assert.deepEqual(await Promise.all([1, 2, 3, 4].map((item) => batcher.add(item))), [2, 4, 6, 8])
    assert.deepEqual(batches, [[1, 2, 3], [4]])
  })
  for (const startsBeforeTurnEnds of [false, true])
    it(`starts a batch ${startsBeforeTurnEnds ? 'before' : 'at'} the end of the turn of the event loop`, async () => {
      const batches: number[][] = []
      const turnEnd = new Promise<number>((resolve) => {
        setImmediate(() => resolve(batches.length))
      })
      const batcher = createBatcher<number, number>(
        (items) => {
          batches.push(items)
          return Promise.resolve(items)
        },
        { max: 3, concurrency: 1, startsBeforeTurnEnds },
      )
      const added = Promise.all([1, 2].map((item) => batcher.add(item)))
      assert.strictEqual(await turnEnd, startsBeforeTurnEnds ? 1 : 0)
      await added
      assert.deepEqual(batches, [[1, 2]])
    })
  it('collects items while a batch runs', async () => {
    const sizes: number[] = []
    let release = (): void => undefined
    const batcher = createBatcher<number, number>(
      async (items) => {
        sizes.push(items.length)
        if (sizes.length === 1)
          await new Promise<void>((resolve) => {
            release = resolve
          })
        return items
      },
      { max: 100, concurrency: 1 },
    )
    const first = batcher.add(0)
    await turn()
    const others = Array.from({ length: 10 }, (_, i) => batcher.add(i))
    await turn()
    assert.strictEqual(batcher.waiting, 10)
    release()
    await Promise.all([first, ...others])
    assert.deepEqual(sizes, [1, 10])
  })
  it('does not delay a single caller in a loop', async () => {
    const batcher = createBatcher<number, number>((items) => Promise.resolve(items), {
      max: 5,
      concurrency: 1,
      lingerMs: 3_600_000,
      minBatch: 2,
    })
    for (const item of [1, 2, 3]) assert.strictEqual(await batcher.add(item), item)
  })
  it('lingers after a batch of minBatch items', async () => {
    const sizes: number[] = []
    const batcher = createBatcher<number, number>(
      (items) => {
        sizes.push(items.length)
        return Promise.resolve(items)
      },
      { max: 5, concurrency: 1, lingerMs: 400, minBatch: 2 },
    )
    await Promise.all([batcher.add(1), batcher.add(2)])
    const first = batcher.add(3)
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
    await Promise.all([first, batcher.add(4)])
    assert.deepEqual(sizes, [2, 2])
  })
  describe('does not linger', () => {
    const HOUR_MS = 3_600_000
    const cases: readonly [what: string, given: Partial<BatcherOptions<number>>, added: readonly number[]][] = [
      ['with an urgent item', { isUrgent: (item) => item === 0 }, [4, 0]],
      ['with a full batch', { max: 3 }, [3, 4, 5]],
      ['when all callers wait', { expected: () => 2 }, [3, 4]],
      [
        'when the others are in a batch that runs',
        { expected: () => 3, concurrency: 2, minBatch: 1, isUrgent: (item) => item === 9 },
        [9, 3, 4],
      ],
    ]
    for (const [what, given, added] of cases)
      it(what, async () => {
        const sizes: number[] = []
        let release = (): void => undefined
        const batcher = createBatcher<number, number>(
          async (items) => {
            sizes.push(items.length)
            if (items[0] === 9)
              await new Promise<void>((resolve) => {
                release = resolve
              })
            return items
          },
          { max: 100, concurrency: 1, lingerMs: HOUR_MS, minBatch: 2, ...given },
        )
        await Promise.all([batcher.add(1), batcher.add(2)])
        const results: Promise<number>[] = []
        for (const item of added) {
          results.push(batcher.add(item))
          await turn()
          await turn()
        }
        assert.strictEqual(await results.at(-1), added.at(-1))
        const last = added.filter((item) => item !== 9)
        assert.strictEqual(sizes.at(-1), last.length)
        release()
        await Promise.all(results)
      })
    it('again after an urgent item that was in a batch', async () => {
      const sizes: number[] = []
      const batcher = createBatcher<number, number>(
        (items) => {
          sizes.push(items.length)
          return Promise.resolve(items)
        },
        { max: 3, concurrency: 1, lingerMs: HOUR_MS, minBatch: 2, isUrgent: (item) => item === 0 },
      )
      await Promise.all([batcher.add(0), batcher.add(1)])
      const waiting = batcher.add(2)
      await turn()
      await turn()
      assert.deepEqual(sizes, [2])
      await Promise.all([waiting, batcher.add(3), batcher.add(4)])
      assert.deepEqual(sizes, [2, 3])
    })
  })
  it('counts heavy items as several; a single item always runs', async () => {
    const batches: number[][] = []
    const batcher = createBatcher<number, number>(
      (items) => {
        batches.push(items)
        return Promise.resolve(items)
      },
      { max: 5, concurrency: 1, weightOf: (item) => item },
    )
    await Promise.all([1, 4, 1, 9, 2, 2, 2].map((item) => batcher.add(item)))
    assert.deepEqual(batches, [[1, 4], [1], [9], [2, 2], [2]])
  })
  it('rejects the items of a failed batch and continues', async () => {
    let isBroken = true
    const batcher = createBatcher<number, number>(
      (items) => (isBroken ? Promise.reject(new Error('away')) : Promise.resolve(items)),
      { max: 10, concurrency: 1, lingerMs: 1 },
    )
    await assert.isRejected(Promise.all([batcher.add(1), batcher.add(2)]), /away/)
    isBroken = false
    assert.strictEqual(await batcher.add(3), 3)
    await batcher.drain()
  })
  it('rejects a batch with the wrong number of results', async () => {
    await assert.isRejected(
      createBatcher<number, number>(() => Promise.resolve([]), { max: 1, concurrency: 1 }).add(1),
      /returned 0 results/,
    )
  })
})
