/**
 * Webhooks and sudden death: of the worker between the receiver's answer and the commit, and of PostgreSQL under a try.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { assert } from 'chai'
import { startPostgres, type TestServer } from '#test/support/stores.ts'
import { until } from '#test/support/until.ts'
import { answer, hang, startReceiver, type Receiver } from '#test/support/webhook-receiver.ts'
import { createWebhookWorld, MASTER_KEY, type WebhookWorld } from '#test/support/webhook-world.ts'
import { startWebhooks } from './webhooks.ts'

/** A worker process as it runs in production. */
function startWorker(world: WebhookWorld): ChildProcess {
  const script = `
    const { main } = await import(${JSON.stringify(import.meta.resolve('./main.ts'))})
    const { loadConfig } = await import(${JSON.stringify(import.meta.resolve('#config/load.ts'))})
    await main(loadConfig())`
  const { databaseUrl, redisUrl } = world.ctx.config
  const stores = { DATABASE_URL: databaseUrl ?? '', REDIS_URL: redisUrl ?? '' }
  const env = { ...process.env, ...stores, MASTER_KEY, ALLOW_PRIVATE_TARGETS: '127.0.0.0/8', LOG_LEVEL: 'silent' }
  return spawn(process.execPath, ['--input-type=module', '-e', script], { env, stdio: 'ignore' })
}

describe('webhooks and crashes', () => {
  let world: WebhookWorld
  let postgres: TestServer
  let receiver: Receiver
  let worker: ChildProcess | null = null
  before(async function () {
    this.timeout(120_000)
    postgres = await startPostgres()
    world = await createWebhookWorld({}, postgres)
  })
  after(async () => {
    await world.stop()
    await postgres.stop()
  })
  beforeEach(async () => {
    receiver = await startReceiver()
  })
  afterEach(async () => {
    worker?.kill('SIGKILL')
    await receiver.close()
    await world.ctx.db.query('TRUNCATE webhook_endpoints, webhook_deliveries, webhook_attempts, events CASCADE')
  })

  it('kill -9 of the worker before its commit: the event is sent again with the same id', async () => {
    await world.register(receiver.url)
    receiver.behave(hang)
    worker = startWorker(world)
    const [id = ''] = await world.emit(1)
    await receiver.received(1)
    worker.kill('SIGKILL')
    await once(worker, 'exit')
    const held = await world.ctx.db.query<{ leased_until: Date | null }>('SELECT leased_until FROM webhook_deliveries')
    assert.ok(held.rows[0]?.leased_until, 'the dead hold it until their lease has run out')
    // a minute later
    await world.ctx.db.query(`UPDATE webhook_deliveries SET leased_until = now() - interval '1 ms'`)
    receiver.behave(answer(200))
    const loop = startWebhooks(world.ctx, world.redisUrl)
    await until(async () => (await world.states(id))[0] === 'delivered')
    await loop.stop()
    assert.deepEqual(
      receiver.requests.map((request) => request.headers['webhook-id']),
      Array(2).fill(`evt_${id.replaceAll('-', '')}`),
    )
    assert.strictEqual((await world.attempts(id)).length, 1, 'the try that nobody saw the end of is not in the log')
  })

  it('kill -9 of PostgreSQL during an attempt: its result is stored later, nothing is sent twice', async function () {
    this.timeout(60_000)
    await world.register(receiver.url)
    let release = (): void => undefined
    receiver.behave((request, response) => {
      release = () => answer(200)(request, response)
    })
    const loop = startWebhooks(world.ctx, world.redisUrl)
    const [id = ''] = await world.emit(1)
    await receiver.received(1)
    await postgres.crash()
    release()
    await postgres.restart()
    await until(async () => (await world.states(id))[0] === 'delivered')
    receiver.behave(answer(200))
    const [later = ''] = await world.emit(1)
    await until(async () => (await world.states(later))[0] === 'delivered')
    await loop.stop()
    assert.strictEqual(receiver.requests.length, 2)
  })
})
