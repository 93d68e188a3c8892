/**
 * PostgreSQL or Redis is down and comes back while clients send mail: which responses clients get, and that accepted
 * mail is delivered.
 */
import { assert } from 'chai'
import { Client } from 'pg'
import { superuserUrl } from '#bin/supervisor/postgres-access.ts'
import { OPERATOR_TOKEN } from '#test/support/api.ts'
import { checkConsistency } from '#test/support/consistency-checks.ts'
import { waitUntilDrained, Ledger } from '#test/support/ledger.ts'
import { startReceiver, type Receiver } from '#test/support/receiver.ts'
import { startSystem, printLogsOnFailure, type System } from '#test/support/system.ts'
import { until } from '#test/support/until.ts'

const BALANCED = { lost: [], duplicated: [], unexpected: [] }

describe('stores away', () => {
  let mx: Receiver
  let system: System
  let ledger: Ledger

  before(async () => {
    mx = await startReceiver()
    system = await startSystem({ isCrashable: true, env: { ROUTES: `*=smtp://127.0.0.1:${mx.port}` } })
  })
  after(async () => {
    await system.stop()
    await mx.stop()
  })
  beforeEach(() => {
    ledger = new Ledger(system)
  })
  printLogsOnFailure(() => system)
  afterEach(() => ledger.close())

  const readiness = async (): Promise<number> => (await fetch(`${system.url}/readyz`)).status

  it('Redis away: accepted all the same, and delivered when it returns', async () => {
    await system.redisServer.crash()
    await until(async () => (await readiness()) === 503)
    await ledger.load({ count: 100 })
    assert.strictEqual(ledger.entries.length, 100, 'each was accepted at the first try')
    assert.strictEqual(mx.messages.length, 0)
    await system.redisServer.restart()
    await waitUntilDrained(system)
    assert.deepEqual(ledger.compare(mx.messages), BALANCED)
    await until(async () => (await readiness()) === 200)
  })

  it('what was stopped while Redis was away is stopped when it is back', async () => {
    await system.redisServer.crash()
    const stop = { key: OPERATOR_TOKEN, body: { domain: 'stopped.example' } }
    assert.strictEqual((await system.call('POST', '/admin/suspensions', stop)).status, 200)
    await system.redisServer.restart()
    await until(async () => (await readiness()) === 200)
    const stopped = await ledger.send('instant', { domain: 'stopped.example' })
    const later = await ledger.send('normal')
    await until(() => mx.messages.some(({ to }) => to.includes(later.address)))
    assert.ok(!mx.messages.some(({ to }) => to.includes(stopped.address)))
    await system.call('DELETE', '/admin/suspensions?domain=stopped.example', { key: OPERATOR_TOKEN })
    await waitUntilDrained(system)
    assert.deepEqual(ledger.compare(mx.messages), BALANCED)
  })

  it('Redis loses all it had and its file with it: the same', async () => {
    const before = mx.messages.length
    await system.roles.worker.kill()
    await system.roles.mta.kill()
    await ledger.load({ count: 100 })
    // the client of the test connects again by itself after the restart before
    await until(() => system.redis.status === 'ready')
    await system.redis.flushall()
    await system.redisServer.crash()
    await ledger.load({ count: 100 })
    await system.redisServer.restart()
    await system.startMissing()
    await waitUntilDrained(system)
    assert.strictEqual(mx.messages.length - before, 200)
    assert.deepEqual(ledger.compare(mx.messages), BALANCED)
  })

  it('PostgreSQL away: 503 with Retry-After and never 2xx, and all goes on when it returns', async () => {
    await ledger.load({ count: 20 })
    await waitUntilDrained(system)
    const known = new Ledger(system)
    await system.postgres.crash()
    for (let i = 0; i < 10; i++) await known.send('instant')
    assert.strictEqual(await readiness(), 503)
    assert.deepEqual([...new Set(known.entries.map(({ status }) => status))], [503])
    assert.ok(known.entries.every(({ retryAfter }) => Number(retryAfter) >= 1))
    const asked = await system.call('GET', '/public/emails/get-email?id=em_00000000000070008000000000000000')
    assert.deepEqual([asked.status, asked.body['success'], asked.body['error']], [503, false, 'SERVICE_UNAVAILABLE'])
    await system.postgres.restart()
    await ledger.load({ count: 20 })
    await waitUntilDrained(system)
    assert.deepEqual(ledger.compare(mx.messages), BALANCED)
    assert.strictEqual(known.copies(mx.messages).size, 0)
  })

  it('PostgreSQL away while receivers answer: the results wait for it and are written once', async () => {
    mx.script = { on: { dot: { delayMs: 300 } } }
    const taken = mx.messages.length
    await ledger.load({ count: 60 })
    await until(() => mx.messages.length > taken)
    await system.postgres.crash()
    await until(() => mx.messages.length >= taken + 20)
    await system.postgres.restart()
    mx.script = {}
    await waitUntilDrained(system)
    assert.deepEqual(ledger.compare(mx.messages), BALANCED)
    await checkConsistency(system)
  })

  it('PostgreSQL only reads for a while, as in a failover: the same', async () => {
    mx.script = { on: { dot: { delayMs: 100 } } }
    const taken = mx.messages.length
    await ledger.load({ count: 60 })
    await until(() => mx.messages.length > taken)
    await setReadOnly('on')
    const refused = new Ledger(system)
    await until(async () => (await refused.send('instant')).status === 503)
    await until(() => mx.messages.length >= taken + 20)
    await setReadOnly('off')
    mx.script = {}
    await waitUntilDrained(system)
    assert.deepEqual(ledger.compare(mx.messages), BALANCED)
    assert.deepEqual([...new Set(refused.entries.map(({ status }) => status))].toSorted((a, b) => a - b).at(-1), 503)
    await checkConsistency(system)
  })

  async function setReadOnly(value: 'on' | 'off'): Promise<void> {
    const client = new Client({
      connectionString: superuserUrl(system.postgres.url),
      options: '-c default_transaction_read_only=off',
    })
    await client.connect()
    await client.query(`ALTER SYSTEM SET default_transaction_read_only = ${value}`)
    await client.query('SELECT pg_reload_conf()')
    await client.end()
  }

  it('a process that starts while both are away waits for them', async () => {
    await system.roles.mta.terminate()
    await system.roles.worker.terminate()
    await ledger.load({ count: 20 })
    await system.postgres.crash()
    await system.redisServer.crash()
    const starting = Promise.all([system.roles.mta.start(), system.roles.worker.start()])
    await system.redisServer.restart()
    await system.postgres.restart()
    await starting
    await waitUntilDrained(system)
    assert.deepEqual(ledger.compare(mx.messages), BALANCED)
  })
})
