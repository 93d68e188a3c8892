import { setImmediate } from 'node:timers/promises'
import { assert } from 'chai'
import { createFairQueue } from './fair-queue.ts'

describe('fair queue', () => {
  it('serves owners in turn, one item at a time, and continues after a failure', async () => {
    const done: string[] = []
    let atOnce = 0
    const queue = createFairQueue(async (item: string) => {
      assert.strictEqual(++atOnce, 1)
      await setImmediate()
      atOnce--
      done.push(item)
      if (item === 'a2') throw new Error('a2 failed')
      return item.toUpperCase()
    })
    const mine = ['a1', 'a2', 'a3', 'a4'].map((item) => queue.add('a', item))
    await setImmediate()
    const results = await Promise.allSettled([
      ...mine,
      queue.add('b', 'b1'),
      queue.add('c', 'c1'),
      queue.add('b', 'b2'),
    ])
    assert.deepEqual(
      results.map((one) => (one.status === 'fulfilled' ? one.value : String(one.reason))),
      ['A1', 'Error: a2 failed', 'A3', 'A4', 'B1', 'C1', 'B2'],
    )
    assert.deepEqual(done, ['a1', 'a2', 'a3', 'b1', 'c1', 'a4', 'b2'])
    assert.strictEqual(await queue.add('a', 'later'), 'LATER')
  })
  it('processes several items at a time, but one of each owner', async () => {
    const running = new Set<string>()
    let most = 0
    const queue = createFairQueue(async (item: string, owner: string) => {
      assert.ok(!running.has(owner), owner)
      running.add(owner)
      most = Math.max(most, running.size)
      await setImmediate()
      running.delete(owner)
      return item
    }, 2)
    const all = ['a', 'a', 'a', 'b', 'c', 'b'].map((owner, i) => queue.add(owner, `${owner}${i}`))
    assert.deepEqual([queue.waitingOf('a'), queue.waitingOf('b'), queue.waitingOf('z')], [2, 1, 0])
    assert.deepEqual(await Promise.all(all), ['a0', 'a1', 'a2', 'b3', 'c4', 'b5'])
    assert.deepEqual([most, queue.waitingOf('a')], [2, 0])
  })
})
