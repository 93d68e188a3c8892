/**
 * Webhooks as a receiver sees them: a real sender, PostgreSQL and Redis, and a receiver on loopback that misbehaves.
 * Retry times are a thousandth.
 */
import { createHmac } from 'node:crypto'
import { assert } from 'chai'
import { Webhook } from 'standardwebhooks'
import { createAcceptor } from '#src/messages/accept.ts'
import { newId } from '#src/platform/id.ts'
import { replayDelivery } from '#src/webhooks/delivery-log.ts'
import { deleteEndpoint, findEndpoint, rotateSecret, updateEndpoint } from '#src/webhooks/endpoints.ts'
import { sendTestEvent } from '#src/webhooks/test-event.ts'
import { startDns, type TestDns } from '#test/support/dns.ts'
import { createWebhookTestbed, type WebhookTestbed } from '#test/support/webhook-testbed.ts'
import { until } from '#test/support/until.ts'
import {
  respondWith,
  resetConnection,
  startWebhookReceiver,
  type ReceivedRequest,
  type WebhookReceiver,
} from '#test/support/webhook-receiver.ts'
import type { Loop } from './loop.ts'
import { startWebhooks } from './webhooks.ts'

describe('webhook sender', () => {
  let testbed: WebhookTestbed
  let dns: TestDns
  let receiver: WebhookReceiver
  let loops: Loop[] = []
  before(async () => {
    dns = await startDns({})
    testbed = await createWebhookTestbed({ DNS_SERVERS: dns.server, ALLOW_PRIVATE_TARGETS: '127.0.0.1' })
  })
  after(async () => {
    await testbed.stop()
    await dns.stop()
  })
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
  const verify = (request: ReceivedRequest, secret: string): Record<string, unknown> =>
    new Webhook(secret).verify(request.body, request.headers as Record<string, string>) as Record<string, unknown>

  it('sends each event once, signed, with its data', async () => {
    const { secret } = await testbed.register(`${receiver.url}/hook?a=b`)
    start()
    const ids = await testbed.emit(3)
    const requests = await receiver.received(3)
    const bodies = requests.map((request) => verify(request, secret))
    assert.deepEqual(new Set(bodies.map((body) => body['sequence'])), new Set([1, 2, 3]))
    for (const [i, request] of requests.entries()) {
      assert.strictEqual(request.path, '/hook?a=b')
      assert.strictEqual(request.headers['content-type'], 'application/json')
      assert.strictEqual(request.headers['webhook-id'], bodies[i]?.['id'])
      assert.strictEqual(
        request.headers['x-webhook-signature'],
        `sha256=${createHmac('sha256', secret).update(request.body).digest('hex')}`,
      )
    }
    for (const id of ids) await settled(id, 'delivered')
    const [logged] = await testbed.attempts(ids[0] ?? '')
    assert.deepEqual([logged?.status, logged?.error, logged?.attempt], [200, null, 1])
    assert.match(logged?.request_headers['webhook-signature'] ?? '', /^v1,/)
    assert.ok(!JSON.stringify(logged).includes(secret))
    assert.strictEqual(requests.length, 3)
  })

  it('sends an event for an accepted message', async () => {
    const { secret } = await testbed.register(receiver.url, ['email.queued'])
    start()
    const id = newId()
    const bob = { email: 'bob@example.com', name: null }
    const acceptor = createAcceptor(testbed.ctx)
    await acceptor.accept({
      id,
      workspaceId: testbed.workspaceId,
      apiKeyId: null,
      domainId: null,
      tier: 'instant',
      from: { email: 'shop@example.org', name: null },
      replyTo: null,
      to: [bob],
      cc: [],
      recipients: [{ address: bob.email, domain: 'example.com', kind: 'to' }],
      subject: 'Hello',
      html: null,
      text: 'x',
      headers: [],
      attachments: [],
      tags: [],
      metadata: null,
      trackOpens: null,
      trackClicks: null,
      scheduledAt: null,
      timezone: null,
      expiresAt: null,
      createdAt: new Date(),
      quota: null,
      idempotency: null,
    })
    const [request] = await receiver.received(1)
    assert.ok(request)
    const body = verify(request, secret)
    assert.deepEqual(
      [body['type'], body['email_id'], body['recipient'], body['subject'], body['workspace_id'], body['metadata']],
      ['email.queued', `em_${id.replaceAll('-', '')}`, bob.email, 'Hello', testbed.workspaceId, {}],
    )
    await acceptor.drain()
  })

  it('sends each endpoint only its event types', async () => {
    await testbed.register(`${receiver.url}/bounces`, ['email.bounced'])
    await testbed.register(`${receiver.url}/all`)
    start()
    await testbed.emit(2)
    await testbed.emit(1, { type: 'email.bounced', data: { bounce_type: 'hard' } })
    const requests = await receiver.received(4)
    assert.strictEqual(requests.filter((request) => request.path === '/bounces').length, 1)
  })

  it('retries after 500 with the same id and a new timestamp until it is accepted', async () => {
    const { secret } = await testbed.register(receiver.url)
    receiver.setBehaviour((request, response) =>
      respondWith(receiver.requests.length < 3 ? 500 : 204, 'busy')(request, response),
    )
    start()
    const [id = ''] = await testbed.emit(1)
    await settled(id, 'delivered')
    const requests = await receiver.received(3)
    for (const request of requests) verify(request, secret)
    assert.strictEqual(new Set(requests.map((request) => request.headers['webhook-id'])).size, 1)
    const log = await testbed.attempts(id)
    assert.deepEqual(
      log.map(({ status, error, response_body: body }) => [status, error, body]),
      [
        [500, 'answered 500', 'busy'],
        [500, 'answered 500', 'busy'],
        [204, null, ''],
      ],
    )
  })

  for (const [name, misbehave, error] of [
    [
      'a redirect is not followed',
      respondWith(302, '', { location: 'http://127.0.0.2/private' }),
      /redirects are not followed/,
    ],
    ['a dropped connection', resetConnection, /socket hang up|ECONNRESET/],
  ] as const) {
    it(`${name} is a failed attempt`, async () => {
      await testbed.register(receiver.url)
      receiver.setBehaviour((request, response) =>
        (receiver.requests.length === 1 ? misbehave : respondWith(200))(request, response),
      )
      start()
      const [id = ''] = await testbed.emit(1)
      await settled(id, 'delivered')
      assert.match((await testbed.attempts(id))[0]?.error ?? '', error)
      assert.strictEqual(receiver.requests.length, 2)
    })
  }

  it('never connects to a private address, also after DNS rebinding', async () => {
    dns.zone['hook.example'] = { A: ['127.0.0.1'], ttl: 0 }
    const { endpoint } = await testbed.register(`http://hook.example:${receiver.port}/`)
    receiver.setBehaviour(respondWith(200, '', { connection: 'close' }))
    start()
    const [before = ''] = await testbed.emit(1)
    await settled(before, 'delivered')
    dns.zone['hook.example'] = { A: ['127.0.0.2', '10.0.0.1'], AAAA: ['::1'], ttl: 0 }
    await new Promise((resolve) => setTimeout(resolve, 1100)) // answers are used for a second
    const [after = ''] = await testbed.emit(1)
    await until(async () => (await testbed.attempts(after)).length > 0)
    assert.match((await testbed.attempts(after))[0]?.error ?? '', /hook\.example has no public address/)
    assert.strictEqual(receiver.requests.length, 1)
    assert.strictEqual((await findEndpoint(testbed.ctx.db, testbed.workspaceId, endpoint.id))?.isActive, true)
  })

  it('410 disables the endpoint and cancels its deliveries', async () => {
    const { endpoint } = await testbed.register(receiver.url)
    receiver.setBehaviour(respondWith(410))
    const ids = await testbed.emit(40)
    start()
    for (const id of ids) await settled(id, 'failed')
    const found = await findEndpoint(testbed.ctx.db, testbed.workspaceId, endpoint.id)
    assert.deepEqual([found?.isActive, found?.disabledReason], [false, 'it answered 410 Gone'])
    assert.ok(
      (await Promise.all(ids.map((id) => testbed.attempts(id)))).every((log) =>
        /410 Gone/.test(log.at(-1)?.error ?? ''),
      ),
    )
  })

  it('disabling or deleting an endpoint cancels its deliveries, with the reason', async () => {
    const off = await testbed.register(`${receiver.url}/off`, ['email.bounced'])
    const gone = await testbed.register(`${receiver.url}/gone`, ['email.failed'])
    receiver.setBehaviour(respondWith(500))
    const [first = ''] = await testbed.emit(1, { type: 'email.bounced' })
    const [second = ''] = await testbed.emit(1, { type: 'email.failed' })
    await testbed.ctx.db.query(`UPDATE webhook_deliveries SET due_at = now() + interval '1 hour'`)
    start()
    await updateEndpoint(testbed.ctx, testbed.workspaceId, off.endpoint.id, { isActive: false })
    await deleteEndpoint(testbed.ctx, testbed.workspaceId, gone.endpoint.id)
    await settled(first, 'failed')
    await settled(second, 'failed')
    assert.deepEqual(
      [(await testbed.attempts(first))[0]?.error, (await testbed.attempts(second))[0]?.error],
      [
        'not sent: the endpoint is switched off (switched off by its owner)',
        'not sent: the endpoint is switched off (deleted)',
      ],
    )
    assert.strictEqual(receiver.requests.length, 0)
  })

  it('both secrets sign during a rotation', async () => {
    const { endpoint, secret } = await testbed.register(receiver.url)
    const rotated = await rotateSecret(testbed.ctx, testbed.workspaceId, endpoint.id)
    assert.ok(rotated !== null && rotated.secret !== secret)
    start()
    await testbed.emit(1)
    const [request] = await receiver.received(1)
    assert.ok(request)
    verify(request, secret)
    verify(request, rotated.secret)
    await testbed.ctx.db.query(`UPDATE webhook_endpoints SET previous_until = now() - interval '1 second'`)
    await testbed.emit(1)
    const [, later] = await receiver.received(2)
    assert.ok(later)
    verify(later, rotated.secret)
    assert.throws(() => verify(later, secret))
  })

  it('replays and test events are sent immediately', async () => {
    const { endpoint, secret } = await testbed.register(receiver.url, ['domain.verified'])
    start()
    const [id = ''] = await testbed.emit(1, { type: 'domain.verified', data: { domain: 'example.com' } })
    await settled(id, 'delivered')
    assert.strictEqual(await replayDelivery(testbed.ctx, endpoint, id), 'queued')
    await receiver.received(2)
    await settled(id, 'delivered')
    const sample = await sendTestEvent(testbed.ctx, testbed.workspaceId, endpoint, 'email.bounced')
    const request = (await receiver.received(3))[2]
    assert.ok(request)
    const body = verify(request, secret)
    assert.deepEqual(
      [body['id'], body['type'], body['bounce_type'], body['recipient'], (body['data'] as { test: boolean }).test],
      [`evt_${sample?.replaceAll('-', '')}`, 'email.bounced', 'hard', 'recipient@example.com', true],
    )
  })

  it('an event that is no longer stored fails without affecting others', async () => {
    await testbed.register(receiver.url)
    const [gone = '', kept = ''] = await testbed.emit(2)
    await testbed.ctx.db.query('DELETE FROM events WHERE id = $1', [gone])
    start()
    await settled(kept, 'delivered')
    await settled(gone, 'failed')
    assert.deepEqual(
      (await testbed.attempts(gone)).map(({ error }) => error),
      ['not sent: the event is no longer stored'],
    )
  })
})
