import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { Deadline } from './deadline.ts'

/** A deadline that records when it fired. */
function watch(): { deadline: Deadline; expired: number[]; startedAt: number } {
  const expired: number[] = []
  return { deadline: new Deadline(() => expired.push(performance.now())), expired, startedAt: performance.now() }
}

describe('a deadline', () => {
  it('fires once, and not early', async () => {
    const { deadline, expired, startedAt } = watch()
    deadline.set(20)
    await sleep(80)
    assert.strictEqual(expired.length, 1)
    assert.ok((expired[0] ?? 0) - startedAt >= 20)
  })

  it('can be brought forward', async () => {
    const { deadline, expired } = watch()
    deadline.set(60_000)
    deadline.set(10)
    await sleep(60)
    assert.strictEqual(expired.length, 1)
    deadline.stop()
  })

  it('can be postponed', async () => {
    const { deadline, expired } = watch()
    deadline.set(10)
    deadline.set(60_000)
    await sleep(60)
    assert.deepEqual(expired, [])
    deadline.stop()
  })

  it('can be cleared and set again', async () => {
    const { deadline, expired } = watch()
    deadline.set(10)
    deadline.clear()
    await sleep(40)
    assert.deepEqual(expired, [])
    deadline.set(10)
    await sleep(60)
    assert.strictEqual(expired.length, 1)
  })

  it('fires on time when that is further away than the longest timer', async () => {
    const { deadline, expired, startedAt } = watch()
    deadline.set(1100)
    while (expired.length === 0) await sleep(20)
    assert.ok((expired[0] ?? 0) - startedAt >= 1100)
  })
})
