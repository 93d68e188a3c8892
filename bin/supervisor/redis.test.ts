import { appendFileSync, globSync, mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { Redis } from 'ioredis'
import { chooseAccount } from './account.ts'
import { createPrivateDirectory } from './data-directory.ts'
import { type RedisOptions, startRedis } from './redis.ts'

async function ask<T>(url: string, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis({ path: decodeURIComponent(new URL(url).pathname) })
  try {
    return await work(redis)
  } finally {
    redis.disconnect()
  }
}

describe('the embedded Redis', () => {
  let options: RedisOptions
  let root: string
  let said: string[]

  beforeEach(async () => {
    const account = chooseAccount('/nonexistent')
    said = []
    root = mkdtempSync('/tmp/mailstead-redis, \'a "b?#%41-')
    createPrivateDirectory(root, account)
    createPrivateDirectory(join(root, 'sock'), account)
    const say = (line: string): void => void said.push(line)
    options = {
      dir: join(root, 'redis'),
      sockets: join(root, 'sock'),
      account,
      logFile: join(root, 'log'),
      say,
      removeOnExit: root,
    }
    const server = await startRedis(options)
    await ask(server.url, (redis) => redis.mset('one', '1', 'two', '2'))
    await server.stop()
  })
  afterEach(() => rmSync(root, { recursive: true, force: true }))

  const lastFile = (): string =>
    globSync('redis/appendonlydir/*.incr.aof', { cwd: root })
      .map((name) => join(root, name))
      .toSorted()
      .at(-1) ?? ''

  it('keeps its data, refuses to evict, and has no port', async () => {
    const server = await startRedis(options)
    const values = await ask(server.url, (redis) => redis.mget('one', 'two'))
    assert.deepEqual(values, ['1', '2'])
    assert.deepEqual(await ask(server.url, (redis) => redis.config('GET', 'maxmemory-policy')), [
      'maxmemory-policy',
      'noeviction',
    ])
    assert.deepEqual(await ask(server.url, (redis) => redis.config('GET', 'port')), ['port', '0'])
    await server.stop()
  })

  it('replaces one that a killed supervisor left running', async () => {
    const orphan = await startRedis(options)
    const server = await startRedis(options)
    await orphan.exited
    assert.strictEqual(await ask(server.url, (redis) => redis.get('two')), '2')
    await server.stop()
  })

  it('starts after kill -9 in the middle of a write', async () => {
    appendFileSync(lastFile(), '*3\r\n$3\r\nSET\r\n$5\r\nthr')
    const server = await startRedis(options)
    assert.strictEqual(await ask(server.url, (redis) => redis.get('two')), '2')
    await server.stop()
  })

  it('moves unreadable data aside, and says so', async () => {
    const file = lastFile()
    const { size } = statSync(file)
    truncateSync(file, 0)
    writeFileSync(file, 'garbage\r\n'.repeat(size))
    const server = await startRedis(options)
    assert.strictEqual(await ask(server.url, (redis) => redis.dbsize()), 0)
    assert.match(said.join('\n'), /moved to .*redis\.unreadable-\d+, and the queue is rebuilt from PostgreSQL/)
    assert.strictEqual(globSync('redis.unreadable-*', { cwd: root }).length, 1)
    await server.stop()
  })
})
