import { assert } from 'chai'
import { openLog } from '#src/platform/log.ts'
import { openRedis, type Redis } from '#src/stores/redis.ts'
import { openOwnRedis, type OwnRedis } from '#test/support/redis.ts'
import { createAttempts } from './attempt-limits.ts'

const log = openLog({ logLevel: 'silent' }, 'test')
const LIMIT = { max: 2, windowMs: 60_000 }

describe('attempts', () => {
  let own: OwnRedis
  let redis: Redis
  before(async () => {
    own = await openOwnRedis()
    redis = own.redis
  })
  after(() => own.close())

  const clock = { nowMs: 1_000_000, now: () => clock.nowMs }

  it('are counted over all processes, each name by itself', async () => {
    const [one, two] = [createAttempts(redis, clock), createAttempts(redis, clock)]
    assert.deepEqual([await one.take('a', LIMIT), await two.take('a', LIMIT)], [null, null])
    const wait = await one.take('a', LIMIT)
    assert.ok(wait !== null && wait >= 1 && wait <= 60)
    assert.strictEqual(await two.take('b', LIMIT), null)
  })
  it('a hundred at once: as many as may', async () => {
    const attempts = createAttempts(redis, clock)
    const taken = await Promise.all(
      Array.from({ length: 100 }, () => attempts.take('crowd', { max: 7, windowMs: 60_000 })),
    )
    assert.strictEqual(taken.filter((wait) => wait === null).length, 7)
  })
  it('are looked at without being counted, by all processes', async () => {
    const [one, two] = [createAttempts(redis, clock), createAttempts(redis, clock)]
    assert.strictEqual(await two.look('failures', LIMIT), null)
    for (let i = 0; i < LIMIT.max; i++) await one.take('failures', LIMIT)
    const wait = await two.look('failures', LIMIT)
    assert.ok(wait !== null && wait >= 1 && wait <= 60)
  })
  it('leave nothing in Redis when their time is over', async () => {
    await createAttempts(redis, clock).take('short', { max: 1, windowMs: 1 })
    assert.ok((await redis.pttl('mailstead:attempts:{short}')) <= 1)
  })
  it('without Redis are counted by the process, in windows from the first', async () => {
    const away = openRedis('unix:///nonexistent/redis.sock', log)
    const attempts = createAttempts(away, clock)
    assert.deepEqual(
      [await attempts.take('a', LIMIT), await attempts.take('a', LIMIT), await attempts.take('a', LIMIT)],
      [null, null, 60],
    )
    clock.nowMs += 45_500
    assert.strictEqual(await attempts.take('a', LIMIT), 15)
    assert.strictEqual(await attempts.look('a', LIMIT), 15)
    clock.nowMs += 14_500
    assert.strictEqual(await attempts.look('a', LIMIT), null)
    assert.strictEqual(await attempts.take('a', LIMIT), null)
    away.disconnect()
  })
})
