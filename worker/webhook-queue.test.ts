/**
 * The queue of webhook deliveries: endpoints and workers side by side, leases, and the loss of a worker or of Redis. A
 * real sender, PostgreSQL and Redis, and a receiver on loopback. Retry times are a thousandth.
 */
import { assert } from 'chai'
import { createWebhookTestbed, type WebhookTestbed } from '#test/support/webhook-testbed.ts'
import { until } from '#test/support/until.ts'
import {
  respondWith,
  neverRespond,
  startWebhookReceiver,
  type WebhookReceiver,
} from '#test/support/webhook-receiver.ts'
import type { Loop } from './loop.ts'
import { startWebhooks } from './webhooks.ts'

describe('webhook sender', () => {
  let testbed: WebhookTestbed
  let receiver: WebhookReceiver
  let loops: Loop[] = []
  before(async () => {
    testbed = await createWebhookTestbed({ ALLOW_PRIVATE_TARGETS: '127.0.0.1' })
  })
  after(() => testbed.stop())
  beforeEach(async () => {
    await testbed.ctx.db.query('TRUNCATE webhook_endpoints, webhook_deliveries, webhook_attempts, events CASCADE')
    receiver = await startWebhookReceiver()
  })
  afterEach(async () => {
    await Promise.all(loops.map((loop) => loop.stop()))
    loops = []
    await receiver.close()
  })

  const start = (count = 1): void => {
    for (let i = 0; i < count; i++) loops.push(startWebhooks(testbed.ctx, testbed.redisUrl))
  }
  const settled = (id: string, state: string): Promise<void> =>
    until(
      async () => (await testbed.states(id)).every((one) => one === state),
      () => `${id} is not ${state}`,
    )

  it('a hanging endpoint delays no other', async () => {
    const hanging = await startWebhookReceiver()
    hanging.setBehaviour(neverRespond)
    await testbed.register(hanging.url, ['email.bounced'])
    await testbed.register(receiver.url, ['email.delivered'])
    start()
    await testbed.emit(300, { type: 'email.bounced' })
    await hanging.received(1)
    const ids = await testbed.emit(300)
    await receiver.received(300)
    for (const id of ids.slice(-3)) await settled(id, 'delivered')
    assert.ok(hanging.requests.length <= 2, 'and gets one request at once until it answers')
    await hanging.close()
  })

  it('an event in retry delays no other', async () => {
    await testbed.register(receiver.url)
    const [stuck = ''] = await testbed.emit(1)
    receiver.setBehaviour((request, response) =>
      respondWith(request.body.includes(stuck.replaceAll('-', '')) ? 500 : 200)(request, response),
    )
    start()
    const ids = await testbed.emit(5)
    for (const id of ids) await settled(id, 'delivered')
    assert.deepEqual(await testbed.states(stuck), ['pending'])
  })

  it('two workers send nothing twice', async () => {
    await testbed.register(receiver.url)
    start(2)
    const ids = (await Promise.all(Array.from({ length: 20 }, () => testbed.emit(20)))).flat()
    await receiver.received(ids.length)
    for (const id of ids) await settled(id, 'delivered')
    assert.strictEqual(receiver.requests.length, ids.length)
    assert.strictEqual(new Set(receiver.requests.map((request) => request.headers['webhook-id'])).size, ids.length)
  })

  it('after a crash between response and commit, the event is sent again with the same id', async () => {
    await testbed.register(receiver.url)
    start()
    const [id = ''] = await testbed.emit(1)
    await settled(id, 'delivered')
    // as if the process had died before the commit, and its lease had run out
    await testbed.ctx.db.query(
      `UPDATE webhook_deliveries SET state = 'pending', tries = 0, leased_until = now() - interval '1 ms'`,
    )
    await testbed.ctx.redis.publish('mailstead:webhooks', '')
    const [first, second] = await receiver.received(2)
    assert.strictEqual(second?.headers['webhook-id'], first?.headers['webhook-id'])
    await settled(id, 'delivered')
  })

  it('a leased delivery is not sent before the lease expires', async () => {
    await testbed.register(receiver.url)
    const [id = ''] = await testbed.emit(1)
    await testbed.ctx.db.query(`UPDATE webhook_deliveries SET leased_until = now() + interval '1 hour'`)
    start()
    const [other = ''] = await testbed.emit(1)
    await settled(other, 'delivered')
    assert.deepEqual([await testbed.states(id), receiver.requests.length], [['pending'], 1])
  })

  it('stopping releases running and waiting deliveries, uncounted', async function () {
    this.timeout(20_000)
    await testbed.register(receiver.url)
    receiver.setBehaviour(neverRespond)
    start()
    const ids = await testbed.emit(60)
    await receiver.received(1)
    await Promise.all(loops.splice(0).map((loop) => loop.stop()))
    const { rows } = await testbed.ctx.db.query<{ n: number }>(
      `SELECT count(*) AS n FROM webhook_deliveries WHERE state = 'pending' AND tries = 0 AND leased_until IS NULL`,
    )
    assert.strictEqual(rows[0]?.n, ids.length)
    receiver.setBehaviour(respondWith(200))
    start()
    for (const id of ids) await settled(id, 'delivered')
  })

  it('without Redis the timer finds due deliveries', async function () {
    this.timeout(30_000)
    await testbed.register(receiver.url)
    receiver.setBehaviour((request, response) =>
      respondWith(receiver.requests.length === 1 ? 500 : 200)(request, response),
    )
    const [id = ''] = await testbed.emit(1)
    await testbed.redis.crash()
    start()
    await settled(id, 'delivered')
    assert.strictEqual(receiver.requests.length, 2)
    await testbed.redis.restart()
    await until(() => testbed.ctx.redis.status === 'ready')
    const [later = ''] = await testbed.emit(1)
    await settled(later, 'delivered')
  })
})
