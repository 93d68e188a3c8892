import { assert } from 'chai'
import { flushEventLoop } from '#test/support/delivery.ts'
import { createMemoryBudget } from './memory-budget.ts'

describe('memory budget for large content', () => {
  it('runs as much as fits into memory, and the rest in order', async () => {
    const memory = createMemoryBudget(100)
    const running: string[] = []
    const ends = new Map<string, () => void>()
    const lend = (name: string, bytes: number): Promise<void> =>
      memory.runWithin(bytes, () => {
        running.push(name)
        return new Promise<void>((resolve) => ends.set(name, resolve))
      })
    const all = [lend('a', 60), lend('b', 40), lend('c', 50), lend('d', 1)]
    await flushEventLoop()
    assert.deepEqual(running, ['a', 'b'], 'the small one does not overtake')
    ends.get('a')?.()
    await flushEventLoop()
    assert.deepEqual(running, ['a', 'b', 'c', 'd'])
    for (const end of ends.values()) end()
    await Promise.all(all)
  })
  it('runs content larger than the whole budget alone', async () => {
    const memory = createMemoryBudget(10)
    assert.strictEqual(await memory.runWithin(1000, () => Promise.resolve('sent')), 'sent')
  })
  it('frees memory after an error', async () => {
    const memory = createMemoryBudget(10)
    await assert.isRejected(
      memory.runWithin(10, () => Promise.reject(new Error('the link broke'))),
      /the link broke/,
    )
    assert.strictEqual(await memory.runWithin(10, () => Promise.resolve('sent')), 'sent')
  })
})
