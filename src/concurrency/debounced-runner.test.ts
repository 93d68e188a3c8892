import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { createDebouncedRunner, type DebouncedRunner } from './debounced-runner.ts'

describe('debounced runner', () => {
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

  it('runs once for many requests', async () => {
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

  it('never overlaps runs; a request during a run causes another run', async () => {
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

  it('keeps the spacing between starts', async () => {
    build(3_600_000, false)
    alarm.schedule(0)
    await until(1)
    alarm.schedule(0)
    await sleep(20)
    assert.strictEqual(begun, 1)
  })

  it('stop waits for the current run and starts no other', async () => {
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
