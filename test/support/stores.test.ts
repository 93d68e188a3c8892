import { assert } from 'chai'
import { Client } from 'pg'
import { Redis } from 'ioredis'
import { createDatabase, startPostgres, startRedis } from './stores.ts'

async function ask(url: string, statement: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(statement)).rows
  } finally {
    await client.end()
  }
}

describe('stores of a test', () => {
  it('creates a separate migrated database for each test', async () => {
    const [one, two] = await Promise.all([createDatabase(), createDatabase()])
    await ask(one.url, 'CREATE TABLE mine (x int)')
    const seen = await ask(
      two.url,
      "SELECT to_regclass('mine') AS mine, to_regclass('messages') IS NOT NULL AS migrated",
    )
    assert.deepEqual(seen, [{ mine: null, migrated: true }])
    await one.drop()
    await two.drop()
    await assert.isRejected(ask(one.url, 'SELECT 1'), /does not exist/)
  })

  it('starts a Redis whose data survive kill -9', async () => {
    const server = await startRedis()
    const redis = new Redis({ path: new URL(server.url).pathname })
    redis.on('error', () => {})
    await redis.set('kept', 'yes')
    // appendfsync everysec still writes before the answer: only a crash of the machine could lose it.
    await server.crash()
    await server.restart()
    assert.strictEqual(await redis.get('kept'), 'yes')
    redis.disconnect()
    await server.stop()
  })

  it('starts a PostgreSQL whose committed data survive kill -9', async () => {
    const server = await startPostgres()
    await ask(server.url, 'CREATE TABLE kept AS SELECT 1 AS x')
    await server.crash()
    await assert.isRejected(ask(server.url, 'SELECT 1'))
    await server.restart()
    assert.deepEqual(await ask(server.url, 'SELECT x FROM kept'), [{ x: 1 }])
    await server.stop()
  })
})
