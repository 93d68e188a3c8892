import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { openLog } from '#src/platform/log.ts'
import { openRedis, type Redis } from '#src/stores/redis.ts'
import { startRedis, type TestServer } from '#test/support/stores.ts'
import { until } from '#test/support/until.ts'
import { createRequestRateLimiter, type RequestRateLimiter } from './request-rate.ts'

const log = openLog({ logLevel: 'silent' }, 'test')
const WINDOW_MS = 10_000

describe('the request rate limit', () => {
  let server: TestServer
  let redis: Redis
  let other: Redis
  let nowMs = WINDOW_MS * 1000
  const clock = { now: () => nowMs }
  const open: RequestRateLimiter[] = []
  const start = (connection: Redis): RequestRateLimiter => {
    const rate = createRequestRateLimiter(connection, clock)
    open.push(rate)
    return rate
  }

  before(async () => {
    server = await startRedis()
    redis = openRedis(server.url, log)
    other = openRedis(server.url, log)
    await until(() => redis.status === 'ready' && other.status === 'ready')
  })
  afterEach(async () => {
    await Promise.all(open.splice(0).map((rate) => rate.stop()))
    nowMs += 3 * WINDOW_MS
  })
  after(async () => {
    redis.disconnect()
    other.disconnect()
    await server.stop()
  })

  it('counts down in a window, rejects above the limit, and starts again in the next window', () => {
    const rate = start(redis)
    nowMs = WINDOW_MS * 2000 + 4000
    assert.deepEqual(rate.consume('w', 0.2), {
      isAllowed: true,
      limit: 2,
      remaining: 1,
      resetAt: 20_010,
      retryAfter: 6,
    })
    assert.deepEqual(rate.consume('w', 0.2), {
      isAllowed: true,
      limit: 2,
      remaining: 0,
      resetAt: 20_010,
      retryAfter: 6,
    })
    assert.deepEqual(rate.consume('w', 0.2), {
      isAllowed: false,
      limit: 2,
      remaining: 0,
      resetAt: 20_010,
      retryAfter: 6,
    })
    assert.strictEqual(rate.consume('another', 0.2).isAllowed, true)
    nowMs += 6000
    assert.strictEqual(rate.consume('w', 0.2).isAllowed, true)
  })

  it('never rejects an unlimited plan, and reports no limit for it', () => {
    const { isAllowed, limit } = start(redis).consume('w', null)
    assert.deepEqual([isAllowed, limit], [true, null])
  })

  /** Polls until the process knows of `others` requests that it did not count itself. */
  async function learn(rate: RequestRateLimiter, workspaceId: string, others: number): Promise<void> {
    let own = 0
    await until(() => {
      own++
      const { limit, remaining } = rate.consume(workspaceId, 100)
      return (limit ?? 0) - remaining - own >= others
    })
  }

  it('is shared by all processes through Redis', async () => {
    const [one, two] = [start(redis), start(other)]
    for (let i = 0; i < 900; i++) one.consume('shared', 100)
    await learn(two, 'shared', 900)
    let allowed = 0
    while (two.consume('shared', 100).isAllowed) allowed++
    assert.ok(allowed < 100)
    await until(() => !one.consume('shared', 100).isAllowed)
  })

  it('continues with its own count while Redis is unavailable, and shares it afterwards', async () => {
    const rate = start(redis)
    await server.crash()
    await until(() => redis.status !== 'ready')
    for (let i = 0; i < 500; i++) assert.strictEqual(rate.consume('away', 100).remaining, 999 - i)
    await sleep(250)
    assert.strictEqual(rate.consume('away', 100).remaining, 499)
    await server.restart()
    await until(() => redis.status === 'ready' && other.status === 'ready')
    await learn(start(other), 'away', 501)
  })
})
