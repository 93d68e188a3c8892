import { assert } from 'chai'
import { createContext, type TestContext } from '#test/support/context.ts'
import { createBrokenTlsMemory } from './broken-tls.ts'

const HOUR_MS = 3_600_000

describe('broken TLS', () => {
  let ctx: TestContext
  before(async () => {
    ctx = await createContext()
  })
  after(() => ctx.close())

  it('is remembered for hours, by all processes', async () => {
    const [one, other] = [createBrokenTlsMemory(ctx), createBrokenTlsMemory(ctx)]
    assert.strictEqual(await one.find('mx.example'), null)
    await one.record('mx.example', 'plain')
    assert.deepEqual(
      [await one.find('mx.example'), await other.find('mx.example'), await one.find('mx2.example')],
      ['plain', 'plain', null],
    )
    assert.ok((await ctx.redis.ttl('mailstead:{tls:mx.example}')) <= 2 * 3600)
    await ctx.redis.del('mailstead:{tls:mx.example}')
    ctx.advance(3 * HOUR_MS)
    assert.strictEqual(await one.find('mx.example'), null)
  })

  it('is remembered in the process while Redis is away, and invalid values in Redis are ignored', async () => {
    const memory = createBrokenTlsMemory({
      ...ctx,
      redis: { get: () => Promise.reject(new Error('away')), set: () => Promise.reject(new Error('away')) } as never,
    })
    await memory.record('mx.example', 'reduced')
    assert.deepEqual([await memory.find('mx.example'), await memory.find('mx2.example')], ['reduced', null])
    await ctx.redis.set('mailstead:{tls:odd.example}', 'never')
    assert.strictEqual(await createBrokenTlsMemory(ctx).find('odd.example'), null)
  })
})
