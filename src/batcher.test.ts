import assert from 'node:assert/strict'
import { createBatcher } from './batcher.ts'

const turn = (): Promise<void> => new Promise((resolve) => { setImmediate(resolve) })

describe('a batcher', () => {
  it('puts together what comes together, in order, and answers each', async () => {
    const batches: number[][] = []
    const batcher = createBatcher<number, number>((items) => {
      batches.push(items)
      return Promise.resolve(items.map((item) => item * 2))
    }, { max: 3, lanes: 1 })
    assert.deepEqual(await Promise.all([1, 2, 3, 4].map((item) => batcher.add(item))), [2, 4, 6, 8])
    assert.deepEqual(batches, [[1, 2, 3], [4]])
  })
  it('gathers while a batch is under way', async () => {
    const sizes: number[] = []
    let release = (): void => undefined
    const batcher = createBatcher<number, number>(async (items) => {
      sizes.push(items.length)
      if (sizes.length === 1) await new Promise<void>((resolve) => { release = resolve })
      return items
    }, { max: 100, lanes: 1 })
    const first = batcher.add(0)
    await turn()
    const others = Array.from({ length: 10 }, (_, i) => batcher.add(i))
    await turn()
    assert.equal(batcher.waiting, 10)
    release()
    await Promise.all([first, ...others])
    assert.deepEqual(sizes, [1, 10])
  })
  it('counts heavy items for several; a single one goes however heavy it is', async () => {
    const batches: number[][] = []
    const batcher = createBatcher<number, number>((items) => {
      batches.push(items)
      return Promise.resolve(items)
    }, { max: 5, lanes: 1, weigh: (item) => item })
    await Promise.all([1, 4, 1, 9, 2, 2, 2].map((item) => batcher.add(item)))
    assert.deepEqual(batches, [[1, 4], [1], [9], [2, 2], [2]])
  })
  it('rejects the items of a batch that fails, and goes on', async () => {
    let isBroken = true
    const batcher = createBatcher<number, number>((items) => isBroken ? Promise.reject(new Error('away')) : Promise.resolve(items), { max: 10, lanes: 1, gatherMs: 1 })
    await assert.rejects(Promise.all([batcher.add(1), batcher.add(2)]), /away/)
    isBroken = false
    assert.equal(await batcher.add(3), 3)
    await batcher.drain()
  })
  it('calls a batch with the wrong number of results a bug', async () => {
    await assert.rejects(createBatcher<number, number>(() => Promise.resolve([]), { max: 1, lanes: 1 }).add(1), /answered 0 results/)
  })
})
