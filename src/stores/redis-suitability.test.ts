import { assert, expect } from 'chai'
import { pino } from 'pino'
import { createContext, type TestContext } from '#test/support/context.ts'
import { until } from '#test/support/until.ts'
import { openRedis, waitUntilReady, type Redis } from './redis.ts'
import { findRedisProblem, parseRedisInfo, redisProblemOf } from './redis-suitability.ts'
import { checkStoresAtStart } from './start-check.ts'
import { UnsuitableStoreError } from './store-errors.ts'

const GOOD = {
  redis_version: '7.0.15',
  redis_mode: 'standalone',
  maxmemory_policy: 'noeviction',
  role: 'master',
  cluster_enabled: '0',
}

describe('the suitability of a Redis', () => {
  const CASES: readonly (readonly [change: Readonly<Record<string, string>>, problem: RegExp | null])[] = [
    [{}, null],
    [{ redis_version: '6.2.0' }, null],
    [{ redis_version: '6.0.16' }, /^version 6\.0\.16 is too old.*6\.2/],
    [{ redis_mode: 'cluster', cluster_enabled: '1' }, /cluster mode.*cluster-enabled no/],
    [{ redis_mode: 'sentinel' }, /Sentinel.*REDIS_URL/],
    [{ maxmemory_policy: 'allkeys-lru' }, /maxmemory-policy is allkeys-lru.*noeviction/],
    [{ maxmemory_policy: 'volatile-ttl' }, /maxmemory-policy is volatile-ttl/],
    [{ role: 'slave' }, /replica.*primary/],
  ]
  for (const [change, expected] of CASES)
    it(`${JSON.stringify(change)}: ${expected === null ? 'suitable' : 'refused'}`, () => {
      const lines = Object.entries({ ...GOOD, ...change }).map(([name, value]) => `${name}:${value}`)
      const problem = findRedisProblem(parseRedisInfo(`# Server\r\n${lines.join('\r\n')}\r\n`))
      if (expected === null) assert.isNull(problem)
      else assert.match(`${problem?.detail.text} ${problem?.todo.text}`, expected)
    })

  it('is not doubted without the permission for INFO', () => {
    assert.isNull(findRedisProblem(() => undefined))
  })
})

describe('a Redis that may evict keys', () => {
  let ctx: TestContext
  let redis: Redis
  const lines: { level: number; msg: string }[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  before(async () => {
    ctx = await createContext()
    await ctx.redis.config('SET', 'maxmemory-policy', 'allkeys-lru')
    redis = openRedis(ctx.redisUrl, log)
  })
  after(async () => {
    redis.disconnect()
    await ctx.close()
  })

  it('ends a start, with an error that says what to do', async () => {
    await expect(checkStoresAtStart({ db: ctx.db, redis })).to.be.rejectedWith(
      UnsuitableStoreError,
      /^Redis: maxmemory-policy is allkeys-lru.*set maxmemory-policy noeviction/,
    )
  })
  it('runs no command, is logged once, and is asked again', async () => {
    assert.isFalse(await waitUntilReady(redis, 300))
    await assert.isRejected(redis.set('a', '1'))
    assert.match(redisProblemOf(redis)?.detail.text ?? '', /allkeys-lru/)
    assert.deepEqual(
      lines.map(({ level, msg }) => [level, msg.slice(0, 45)]),
      [[50, 'Redis cannot be used. Redis: maxmemory-policy']],
    )
    await ctx.redis.config('SET', 'maxmemory-policy', 'noeviction')
    await until(() => redis.status === 'ready')
    assert.isNull(redisProblemOf(redis))
    await checkStoresAtStart({ db: ctx.db, redis })
  })
})
