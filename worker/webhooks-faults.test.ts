/**
 * Webhooks and sudden death: of the worker between the receiver's answer and the commit, and of PostgreSQL under a try.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { assert } from 'chai'
import { startPostgres, type TestServer } from '#test/support/stores.ts'
import { until } from '#test/support/until.ts'
import {
  respondWith,
  neverRespond,
  startWebhookReceiver,
  type WebhookReceiver,
} from '#test/support/webhook-receiver.ts'
import { createWebhookTestbed, MASTER_KEY, type WebhookTestbed } from '#test/support/webhook-testbed.ts'
import { startWebhooks } from './webhooks.ts'

/** A worker process as it runs in production. */
function startWorker(testbed: WebhookTestbed): ChildProcess {
  const script = `
    const { main } = await import(${JSON.stringify(import.meta.resolve('./main.ts'))})
    const { loadConfig } = await import(${JSON.stringify(import.meta.resolve('#config/load.ts'))})
    await main(loadConfig())`
  const { databaseUrl, redisUrl } = testbed.ctx.config
  const stores = { DATABASE_URL: databaseUrl ?? '', REDIS_URL: redisUrl ?? '' }
  const env = { ...process.env, ...stores, MASTER_KEY, ALLOW_PRIVATE_TARGETS: '127.0.0.0/8', LOG_LEVEL: 'silent' }
  return spawn(process.execPath, ['--input-type=module', '-e', script], { env, stdio: 'ignore' })
}

describe('webhooks and crashes', () => {
  let testbed: WebhookTestbed
  let postgres: TestServer
  let receiver: WebhookReceiver
  let worker: ChildProcess | null = null
  before(async () => {
    postgres = await startPostgres()
    testbed = await createWebhookTestbed({}, postgres)
  })
  after(async () => {
    await testbed.stop()
    await postgres.stop()
  })
  beforeEach(async () => {
    receiver = await startWebhookReceiver()
  })
  afterEach(async () => {
    worker?.kill('SIGKILL')
    await receiver.close()
    await testbed.ctx.db.query('TRUNCATE webhook_endpoints, webhook_deliveries, webhook_attempts, events CASCADE')
  })

  it('kill -9 of the worker before its commit: the event is sent again with the same id', async () => {
    await testbed.register(receiver.url)
    receiver.setBehaviour(neverRespond)
    worker = startWorker(testbed)
    const [id = ''] = await testbed.emit(1)
    await receiver.received(1)
    worker.kill('SIGKILL')
    await once(worker, 'exit')
    const leased = await testbed.ctx.db.query<{ leased_until: Date | null }>(
      'SELECT leased_until FROM webhook_deliveries',
    )
    assert.ok(leased.rows[0]?.leased_until, 'the dead hold it until their lease has run out')
    // a minute later
    await testbed.ctx.db.query(`UPDATE webhook_deliveries SET leased_until = now() - interval '1 ms'`)
    receiver.setBehaviour(respondWith(200))
    const loop = startWebhooks(testbed.ctx, testbed.redisUrl)
    await until(async () => (await testbed.states(id))[0] === 'delivered')
    await loop.stop()
    assert.deepEqual(
      receiver.requests.map((request) => request.headers['webhook-id']),
      Array(2).fill(`evt_${id.replaceAll('-', '')}`),
    )
    assert.strictEqual((await testbed.attempts(id)).length, 1, 'the try that nobody saw the end of is not in the log')
  })

  it('kill -9 of PostgreSQL during an attempt: its result is stored later, nothing is sent twice', async () => {
    await testbed.register(receiver.url)
    let release = (): void => undefined
    receiver.setBehaviour((request, response) => {
      release = () => respondWith(200)(request, response)
    })
    const loop = startWebhooks(testbed.ctx, testbed.redisUrl)
    const [id = ''] = await testbed.emit(1)
    await receiver.received(1)
    await postgres.crash()
    release()
    await postgres.restart()
    await until(async () => (await testbed.states(id))[0] === 'delivered')
    receiver.setBehaviour(respondWith(200))
    const [later = ''] = await testbed.emit(1)
    await until(async () => (await testbed.states(later))[0] === 'delivered')
    await loop.stop()
    assert.strictEqual(receiver.requests.length, 2)
  })
})
