/**
 * What a customer's endpoint receives about a message: signed, complete, numbered events, the same as in get-email;
 * and retries when the endpoint fails.
 */
import { assert } from 'chai'
import { Webhook } from 'standardwebhooks'
import { checkConsistency } from '#test/support/consistency-checks.ts'
import { startTestbed, type Testbed } from '#test/support/testbed.ts'
import { printLogsOnFailure } from '#test/support/system.ts'
import { until } from '#test/support/until.ts'
import {
  respondWith,
  startWebhookReceiver,
  type ReceivedRequest,
  type WebhookReceiver,
} from '#test/support/webhook-receiver.ts'

interface ReceivedEvent {
  readonly id: string
  readonly type: string
  readonly sequence: number
  readonly email_id: string
  readonly recipient: string
}

describe('webhooks of a message', () => {
  let testbed: Testbed
  let endpoint: WebhookReceiver
  let secret: string

  before(async () => {
    testbed = await startTestbed({ RETRY_SCALE: '0.002' })
    endpoint = await startWebhookReceiver()
    const order = { url: `${endpoint.url}/hook`, events: ['*'] }
    const { status, body } = await testbed.system.call('POST', '/public/webhooks', {
      key: testbed.system.admin,
      body: order,
    })
    assert.strictEqual(status, 201)
    secret = body['data']?.['secret'] as unknown as string
  })
  after(async () => {
    await testbed.stop()
    await endpoint.close()
  })
  printLogsOnFailure(() => testbed.system)

  /** Checks the signature as a customer would. */
  function open(request: ReceivedRequest): ReceivedEvent {
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
    return new Webhook(secret).verify(request.body, headers) as ReceivedEvent
  }

  /** What was heard of a message, each event once, by number. */
  async function heardOf(emailId: string, count: number): Promise<ReceivedEvent[]> {
    const mine = (): ReceivedEvent[] => endpoint.requests.map(open).filter((one) => one.email_id === emailId)
    const events = (): Map<string, ReceivedEvent> => new Map(mine().map((one) => [one.id, one]))
    await until(
      () => events().size >= count,
      () => `${events().size} of ${count} events were heard`,
    )
    return [...events().values()].toSorted((a, b) => a.sequence - b.sequence)
  }

  it('every event arrives signed, and the timeline of get-email is the same', async () => {
    await testbed.addReceiver('told.example', {
      on: { rcpt: ({ address }) => (address.startsWith('no') ? '550 5.1.1 Nobody' : undefined) },
    })
    const id = await testbed.send({ to: ['yes@told.example', 'no@told.example'], metadata: { order: 7 } })
    const details = await testbed.settle(id)
    const heard = await heardOf(id, details.events.length)
    const lineOf = (event: Omit<ReceivedEvent, 'email_id'>): unknown => [
      event.id,
      event.sequence,
      event.type,
      event.recipient,
    ]
    assert.deepEqual(heard.map(lineOf), details.events.map(lineOf))
    assert.deepEqual(
      heard.map(({ sequence }) => sequence),
      [1, 2, 3, 4, 5],
    )
  })

  it('a wrong secret does not verify it', async () => {
    const [request] = endpoint.requests
    assert.ok(request)
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
    assert.throws(() => new Webhook(`whsec_${Buffer.alloc(32).toString('base64')}`).verify(request.body, headers))
  })

  it('a failed event is sent again with the same id; later events do not wait for it', async () => {
    await testbed.addReceiver('again.example')
    const failed = new Set<string>()
    endpoint.setBehaviour((request, response) => {
      const id = String(request.headers['webhook-id'])
      const isFirst = !failed.has(id)
      failed.add(id)
      respondWith(isFirst ? 500 : 200)(request, response)
    })
    const id = await testbed.send({ to: 'ann@again.example' })
    const details = await testbed.settle(id)
    const triesOf = (eventId: string): number =>
      endpoint.requests.filter(({ headers }) => headers['webhook-id'] === eventId).length
    await until(() => details.events.every((event) => triesOf(event.id) === 2))
    endpoint.setBehaviour(respondWith(200))
    assert.strictEqual((await heardOf(id, 3)).length, 3)
  })

  it('the worker is killed: events of that time are sent later', async () => {
    await testbed.addReceiver('deaf.example')
    await testbed.system.roles.worker.kill()
    const ids = await Promise.all(Array.from({ length: 10 }, (_, i) => testbed.send({ to: `d${i}@deaf.example` })))
    for (const id of ids) await testbed.settle(id)
    await testbed.system.roles.worker.start()
    const whole = ['email.queued', 'email.sent', 'email.delivered']
    for (const id of ids)
      assert.deepEqual(
        (await heardOf(id, 3)).map(({ type }) => type),
        whole,
      )
  })

  it('the stored data is consistent', () => checkConsistency(testbed.system))
})
