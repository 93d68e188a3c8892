import { assert } from 'chai'
import { pino } from 'pino'
import { until } from '#test/support/until.ts'
import { createPauses, firstPauses, startLoop } from './loop.ts'

const log = pino({ level: 'silent' })

describe('a loop of the worker', () => {
  it('continues immediately while there is more to do, and after an error', async () => {
    let count = 0
    const round = (): Promise<boolean> => {
      count++
      return count === 3 ? Promise.reject(new Error('away')) : Promise.resolve(count < 10)
    }
    const loop = startLoop(log, { name: 'busy', everyMs: 20, round })
    await until(() => count >= 10)
    await loop.stop()
  })

  it('waits for as many intervals as a round asks for', async () => {
    let count = 0
    const round = (): Promise<number> => Promise.resolve(++count < 3 ? 0 : 1e6)
    const loop = startLoop(log, { name: 'scaled', everyMs: 1, round })
    await until(() => count >= 3)
    await new Promise((resolve) => setTimeout(resolve, 30))
    assert.strictEqual(count, 3)
    await loop.stop()
  })

  it('waits longer with each round that finds nothing, up to its longest pause', () => {
    const found = ['none', 'none', 'none', 'none', true, false, 'none', 'none', 'some', 'more'] as const
    const pauses = [100, 200, 300, 300, 0, 100, 100, 200, 100, 0]
    assert.deepEqual(found.map(createPauses({ everyMs: 100, idleMs: 300 })), pauses)
  })

  it('begins at another time than the others, within its interval and a second', () => {
    assert.deepEqual(firstPauses([100, 600_000, 1000, 500]), [0, 250, 500, 375])
  })

  it('does not begin a round while it must not run', async () => {
    let mayRun = false
    let count = 0
    const round = (): Promise<boolean> => Promise.resolve(++count < 0)
    const loop = startLoop(log, { name: 'held', everyMs: 5, round, mayRun: () => mayRun })
    await new Promise((resolve) => setTimeout(resolve, 30))
    assert.strictEqual(count, 0)
    mayRun = true
    await until(() => count > 0)
    await loop.stop()
  })
})
