import { assert } from 'chai'
import { pino } from 'pino'
import { openLog } from '#src/platform/log.ts'
import { startSilentProxy, type SilentProxy } from '#test/support/silent-proxy.ts'
import { startRedis, type TestServer } from '#test/support/stores.ts'
import { until } from '#test/support/until.ts'
import { openRedis, subscribeToChannels, waitUntilReady, type Redis } from './redis.ts'

const log = openLog({ logLevel: 'silent' }, 'test')
const QUICK = { checkMs: 30, maxSilentChecks: 4, commandTimeoutMs: 20_000 }

describe('a Redis connection that goes silent', () => {
  let server: TestServer
  let proxy: SilentProxy
  let redis: Redis

  before(async () => {
    server = await startRedis()
  })
  after(() => server.stop())
  beforeEach(async () => {
    proxy = await startSilentProxy(server.url)
  })
  afterEach(async () => {
    redis.disconnect()
    await proxy.stop()
  })

  const open = async (watch = QUICK): Promise<void> => {
    redis = openRedis(proxy.url, log, 'commands', watch)
    assert.ok(await waitUntilReady(redis, 5000))
  }

  it('rejects the commands under way and is replaced', async () => {
    await open()
    proxy.silence()
    await assert.isRejected(Promise.all([redis.set('a', '1'), redis.pipeline().get('a').exec()]))
    await until(() => redis.status === 'ready')
    assert.strictEqual(await redis.set('a', '2'), 'OK')
    assert.strictEqual(proxy.accepted, 2)
  })

  it('is replaced while nothing is sent on it', async () => {
    await open()
    proxy.silence()
    await until(() => proxy.accepted === 2 && redis.status === 'ready')
  })

  it('is replaced again and again until a connection answers', async () => {
    await open()
    proxy.silence('new')
    await until(() => proxy.accepted >= 4)
    await assert.isRejected(redis.get('a'))
    proxy.resume()
    await until(() => redis.status === 'ready')
  })

  it('is not replaced while it answers, however idle', async () => {
    await open()
    const observer = openRedis(server.url, log)
    const pings = async (): Promise<number> =>
      Number(/cmdstat_ping:calls=(\d+)/.exec(await observer.info('commandstats'))?.[1] ?? 0)
    try {
      assert.ok(await waitUntilReady(observer, 5000))
      const before = await pings()
      await until(async () => (await pings()) >= before + QUICK.maxSilentChecks)
    } finally {
      observer.disconnect()
    }
    assert.strictEqual(proxy.accepted, 1)
  })

  it('fails a command that is not answered, also while others are', async () => {
    await open({ ...QUICK, maxSilentChecks: 1000, commandTimeoutMs: 50 })
    await assert.isRejected(redis.blpop('nothing', 0), /timed out/)
  })

  it('that comes back as a server that cannot be used is logged as such, once', async () => {
    const lines: { level: number; msg: string }[] = []
    const own = await startRedis()
    redis = openRedis(own.url, pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) }))
    const messages = (): string[] => lines.map(({ level, msg }) => `${level} ${msg.slice(0, 21)}`)
    try {
      assert.ok(await waitUntilReady(redis, 5000))
      const setPolicy = async (policy: string): Promise<void> => {
        const operator = openRedis(own.url, log, 'inspection')
        assert.ok(await waitUntilReady(operator, 5000))
        await operator.config('SET', 'maxmemory-policy', policy)
        operator.disconnect()
      }
      redis.disconnect(true)
      await until(() => redis.status === 'ready')
      redis.emit('error', new Error('away'))
      await setPolicy('allkeys-lru')
      redis.disconnect(true)
      await until(() => messages().length === 2)
      await setPolicy('noeviction')
      await until(() => redis.status === 'ready')
      assert.deepEqual(messages(), ['40 Redis is unavailable;', '50 Redis cannot be used.', '30 Redis is back'])
    } finally {
      await own.stop()
    }
  })

  it('that subscribes is replaced, subscribed again, and reported', async () => {
    const received: string[] = []
    let subscriptions = 0
    redis = subscribeToChannels(proxy.url, log, { news: (message) => received.push(message) }, () => subscriptions++)
    await until(() => subscriptions === 1)
    proxy.silence()
    await until(() => subscriptions === 2)
    const publisher = openRedis(server.url, log)
    try {
      assert.ok(await waitUntilReady(publisher, 5000))
      await publisher.publish('news', 'heard')
      await until(() => received.length === 1)
      assert.deepEqual(received, ['heard'])
    } finally {
      publisher.disconnect()
    }
  })
})
