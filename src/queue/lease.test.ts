import { assert } from 'chai'
import { createContext, type TestContext } from '#test/support/context.ts'
import { until } from '#test/support/until.ts'
import { acquireLease } from './lease.ts'

describe('a lease', () => {
  let ctx: TestContext
  before(async () => {
    ctx = await createContext()
  })
  after(() => ctx.close())

  it('is acquired while Redis does not answer, and held as soon as it answers', async () => {
    const silence = Promise.withResolvers<undefined>()
    const redis = Object.create(ctx.redis) as TestContext['redis']
    redis.zmscore = async (...args: unknown[]) => {
      await silence.promise
      return ctx.redis.zmscore(...(args as [string, string]))
    }
    const lease = await acquireLease({ ...ctx, redis })
    assert.strictEqual(lease.isHeld(), false)
    silence.resolve(undefined)
    await until(() => lease.isHeld())
    await lease.end()
  })
})
