import { assert } from 'chai'
import { openLog } from '#src/platform/log.ts'
import { beginShutdown } from './shutdown.ts'

const log = openLog({ logLevel: 'silent' }, 'test')
const never = (): Promise<never> => new Promise(() => undefined)

describe('a shutdown', () => {
  it('runs its steps in order', async () => {
    const done: string[] = []
    const shutdown = beginShutdown(log, 60_000)
    assert.isTrue(await shutdown.step('one', () => Promise.resolve(done.push('one'))))
    assert.isTrue(await shutdown.step('two', () => Promise.resolve(done.push('two'))))
    assert.deepEqual(done, ['one', 'two'])
  })
  it('leaves a step that hangs or fails behind', async () => {
    const shutdown = beginShutdown(log, 60_000)
    assert.isFalse(await shutdown.step('hangs', never, 1))
    assert.isFalse(await shutdown.step('fails', () => Promise.reject(new Error('broken'))))
    assert.isTrue(await shutdown.step('works', () => Promise.resolve()))
  })
  it('gives each step a moment after the deadline', async () => {
    const shutdown = beginShutdown(log, 1)
    assert.isFalse(await shutdown.step('hangs', never))
    assert.isTrue(await shutdown.step('works', () => new Promise((resolve) => setTimeout(resolve, 5))))
  })
})
