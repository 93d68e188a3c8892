import { setImmediate as turn } from 'node:timers/promises'
import { assert } from 'chai'
import { until } from '#test/support/until.ts'
import { createPausable, type Startable } from './pausable.ts'

describe('a pausable', () => {
  /** Records starts and stops; a stop lasts until `release` is called. */
  function createSubject(): {
    readonly log: string[]
    readonly subject: Startable
    release: () => void
    hold: () => void
  } {
    const log: string[] = []
    let held: Promise<unknown> = Promise.resolve()
    const state = {
      log,
      subject: {
        stop: async () => {
          log.push('stop')
          await held
          log.push('stopped')
        },
      },
      release: (): void => undefined,
      hold: (): void => {
        const { promise, resolve } = Promise.withResolvers<undefined>()
        held = promise
        state.release = () => resolve(undefined)
      },
    }
    return state
  }

  it('stops and starts, one after the other', async () => {
    const one = createSubject()
    const pausable = createPausable(one.subject, {
      start: () => {
        one.log.push('start')
        return Promise.resolve(one.subject)
      },
      onError: (error) => assert.fail(String(error)),
    })
    one.hold()
    pausable.setPaused(true)
    pausable.setPaused(false)
    await turn()
    assert.deepEqual([...one.log, pausable.isStopped], ['stop', false])
    one.release()
    await until(() => one.log.includes('start'))
    assert.deepEqual(one.log, ['stop', 'stopped', 'start'])
    pausable.setPaused(true)
    await until(() => pausable.isStopped)
    await pausable.stop()
    assert.deepEqual(one.log, ['stop', 'stopped', 'start', 'stop', 'stopped'])
  })

  it('repeats a start that fails, until it ends', async () => {
    const errors: unknown[] = []
    const one = createSubject()
    const pausable = createPausable(one.subject, {
      start: () => Promise.reject(new Error('no port')),
      onError: (error) => errors.push(error),
      retryMs: 1,
    })
    pausable.setPaused(true)
    await until(() => pausable.isStopped)
    pausable.setPaused(false)
    await until(() => errors.length > 2)
    await pausable.stop()
    const before = errors.length
    await turn()
    assert.strictEqual(errors.length, before)
    assert.deepEqual(one.log, ['stop', 'stopped'])
  })

  it('stops once at the end, also while a pause is under way', async () => {
    const one = createSubject()
    const pausable = createPausable(one.subject, {
      start: () => Promise.resolve(one.subject),
      onError: (error) => assert.fail(String(error)),
    })
    one.hold()
    pausable.setPaused(true)
    await turn()
    const ended = pausable.stop()
    one.release()
    await ended
    pausable.setPaused(false)
    await turn()
    assert.deepEqual(one.log, ['stop', 'stopped'])
  })

  it('ends without a start after the end', async () => {
    const one = createSubject()
    const pausable = createPausable(one.subject, {
      start: () => Promise.resolve(null),
      onError: (error) => assert.fail(String(error)),
    })
    pausable.setPaused(true)
    await until(() => pausable.isStopped)
    pausable.setPaused(false)
    await turn()
    await pausable.stop()
    assert.deepEqual(one.log, ['stop', 'stopped'])
  })
})
