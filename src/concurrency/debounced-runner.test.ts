import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { createDebouncedRunner, type DebouncedRunner } from './debounced-runner.ts'

describe('alarm', () => {
  let alarm: DebouncedRunner
  let begun = 0
  let running = 0
  let most = 0
  let release = (): void => undefined

  function build(spacingMs: number, isHeld: boolean): void {
    begun = running = most = 0
    alarm = createDebouncedRunner(async () => {
      begun++
      most = Math.max(most, ++running)
      if (isHeld)
        await new Promise<void>((resolve) => {
          release = resolve
        })
      running--
    }, spacingMs)
  }
  afterEach(() => alarm.stop())

  async function until(count: number): Promise<void> {
    while (begun < count) await sleep(1)
  }

  it('makes one round of many requests', async () => {
    build(0, false)
    for (let i = 0; i < 100; i++) alarm.schedule(5)
    await until(1)
    await sleep(20)
    assert.strictEqual(begun, 1)
  })

  it('keeps the earliest time', async () => {
    build(0, false)
    alarm.schedule(3_600_000)
    alarm.schedule(1)
    alarm.schedule(7_200_000)
    await until(1)
  })

  it('never runs twice at once, and a request during a round makes another after it', async () => {
    build(0, true)
    alarm.schedule(0)
    await until(1)
    alarm.schedule(0)
    alarm.schedule(0)
    await sleep(10)
    assert.strictEqual(begun, 1)
    release()
    await until(2)
    release()
    await sleep(10)
    assert.deepEqual([begun, most], [2, 1])
  })

  it('leaves the spacing between beginnings', async () => {
    build(3_600_000, false)
    alarm.schedule(0)
    await until(1)
    alarm.schedule(0)
    await sleep(20)
    assert.strictEqual(begun, 1)
  })

  it('stopped, it waits for the round under way and begins none', async () => {
    build(0, true)
    alarm.schedule(0)
    await until(1)
    alarm.schedule(0)
    const stopped = alarm.stop()
    release()
    await stopped
    alarm.schedule(0)
    await sleep(10)
    assert.deepEqual([begun, running], [1, 0])
  })
})
