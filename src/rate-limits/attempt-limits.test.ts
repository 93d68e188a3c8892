import { assert } from 'chai'
import { openLog } from '#src/platform/log.ts'
import { openRedis, type Redis } from '#src/stores/redis.ts'
import { openOwnRedis, type OwnRedis } from '#test/support/redis.ts'
import { createAttemptLimiter } from './attempt-limits.ts'

const log = openLog({ logLevel: 'silent' }, 'test')
const LIMIT = { max: 2, windowMs: 60_000 }

describe('attempt limits', () => {
  let own: OwnRedis
  let redis: Redis
  before(async () => {
    own = await openOwnRedis()
    redis = own.redis
  })
  after(() => own.close())

  const clock = { nowMs: 1_000_000, now: () => clock.nowMs }

  it('count each name separately, across all processes', async () => {
    const [one, two] = [createAttemptLimiter(redis, clock), createAttemptLimiter(redis, clock)]
    assert.deepEqual([await one.consume('a', LIMIT), await two.consume('a', LIMIT)], [null, null])
    const wait = await one.consume('a', LIMIT)
    assert.ok(wait !== null && wait >= 1 && wait <= 60)
    assert.strictEqual(await two.consume('b', LIMIT), null)
  })
  it('allow exactly the maximum of a hundred concurrent attempts', async () => {
    const attempts = createAttemptLimiter(redis, clock)
    const waits = await Promise.all(
      Array.from({ length: 100 }, () => attempts.consume('crowd', { max: 7, windowMs: 60_000 })),
    )
    assert.strictEqual(waits.filter((wait) => wait === null).length, 7)
  })
  it('can be read without counting an attempt, across all processes', async () => {
    const [one, two] = [createAttemptLimiter(redis, clock), createAttemptLimiter(redis, clock)]
    assert.strictEqual(await two.peek('failures', LIMIT), null)
    for (let i = 0; i < LIMIT.max; i++) await one.consume('failures', LIMIT)
    const wait = await two.peek('failures', LIMIT)
    assert.ok(wait !== null && wait >= 1 && wait <= 60)
  })
  it('leave nothing in Redis after the window', async () => {
    await createAttemptLimiter(redis, clock).consume('short', { max: 1, windowMs: 1 })
    assert.ok((await redis.pttl('mailstead:attempts:{short}')) <= 1)
  })
  it('count in the process without Redis, in windows from the first attempt', async () => {
    const away = openRedis('unix:///nonexistent/redis.sock', log)
    const attempts = createAttemptLimiter(away, clock)
    assert.deepEqual(
      [await attempts.consume('a', LIMIT), await attempts.consume('a', LIMIT), await attempts.consume('a', LIMIT)],
      [null, null, 60],
    )
    clock.nowMs += 45_500
    assert.strictEqual(await attempts.consume('a', LIMIT), 15)
    assert.strictEqual(await attempts.peek('a', LIMIT), 15)
    clock.nowMs += 14_500
    assert.strictEqual(await attempts.peek('a', LIMIT), null)
    assert.strictEqual(await attempts.consume('a', LIMIT), null)
    away.disconnect()
  })
})
