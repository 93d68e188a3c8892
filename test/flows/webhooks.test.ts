/**
 * What a customer's endpoint hears of a message: signed, complete, numbered, the same that get-email tells; and what becomes of it when the
 * endpoint is ill.
 */
import { assert } from 'chai'
import { Webhook } from 'standardwebhooks'
import { checkBooks } from '#test/support/consistency-checks.ts'
import { openPostOffice, type PostOffice } from '#test/support/mail-world.ts'
import { tellLogsOfFailed } from '#test/support/system.ts'
import { until } from '#test/support/until.ts'
import { answer, startReceiver, type Received, type Receiver } from '#test/support/webhook-receiver.ts'

interface Heard {
  readonly id: string
  readonly type: string
  readonly sequence: number
  readonly email_id: string
  readonly recipient: string
}

describe('webhooks of a message', function () {
  this.timeout(60_000)
  let office: PostOffice
  let endpoint: Receiver
  let secret: string

  before(async () => {
    office = await openPostOffice({ RETRY_SCALE: '0.002' })
    endpoint = await startReceiver()
    const order = { url: `${endpoint.url}/hook`, events: ['*'] }
    const { status, body } = await office.system.call('POST', '/public/webhooks', {
      key: office.system.admin,
      body: order,
    })
    assert.strictEqual(status, 201)
    secret = body['data']?.['secret'] as unknown as string
  })
  after(async () => {
    await office.stop()
    await endpoint.close()
  })
  tellLogsOfFailed(() => office.system)

  /** Checks the signature as a customer would. */
  function open(request: Received): Heard {
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
    return new Webhook(secret).verify(request.body, headers) as Heard
  }

  /** What was heard of a message, each event once, by number. */
  async function heardOf(emailId: string, count: number): Promise<Heard[]> {
    const mine = (): Heard[] => endpoint.requests.map(open).filter((one) => one.email_id === emailId)
    const events = (): Map<string, Heard> => new Map(mine().map((one) => [one.id, one]))
    await until(
      () => events().size >= count,
      () => `${events().size} of ${count} events were heard`,
    )
    return [...events().values()].toSorted((a, b) => a.sequence - b.sequence)
  }

  it('every event arrives signed, and the timeline of get-email is the same', async () => {
    await office.open('told.example', {
      on: { rcpt: ({ address }) => (address.startsWith('no') ? '550 5.1.1 Nobody' : undefined) },
    })
    const id = await office.send({ to: ['yes@told.example', 'no@told.example'], metadata: { order: 7 } })
    const told = await office.settle(id)
    const heard = await heardOf(id, told.events.length)
    const lineOf = (event: Omit<Heard, 'email_id'>): unknown => [event.id, event.sequence, event.type, event.recipient]
    assert.deepEqual(heard.map(lineOf), told.events.map(lineOf))
    assert.deepEqual(
      heard.map(({ sequence }) => sequence),
      [1, 2, 3, 4, 5],
    )
  })

  it('a wrong secret does not open it', async () => {
    const [request] = endpoint.requests
    assert.ok(request)
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
    assert.throws(() => new Webhook(`whsec_${Buffer.alloc(32).toString('base64')}`).verify(request.body, headers))
  })

  it('an endpoint that fails hears of it again, with the same id; later events do not wait for it', async () => {
    await office.open('again.example')
    const failed = new Set<string>()
    endpoint.behave((request, response) => {
      const id = String(request.headers['webhook-id'])
      const isFirst = !failed.has(id)
      failed.add(id)
      answer(isFirst ? 500 : 200)(request, response)
    })
    const id = await office.send({ to: 'ann@again.example' })
    const told = await office.settle(id)
    const triesOf = (eventId: string): number =>
      endpoint.requests.filter(({ headers }) => headers['webhook-id'] === eventId).length
    await until(() => told.events.every((event) => triesOf(event.id) === 2))
    endpoint.behave(answer(200))
    assert.strictEqual((await heardOf(id, 3)).length, 3)
  })

  it('the worker is killed: nothing that happened meanwhile goes unheard', async () => {
    await office.open('deaf.example')
    await office.system.roles.worker.kill()
    const ids = await Promise.all(Array.from({ length: 10 }, (_, i) => office.send({ to: `d${i}@deaf.example` })))
    for (const id of ids) await office.settle(id)
    await office.system.roles.worker.start()
    const whole = ['email.queued', 'email.sent', 'email.delivered']
    for (const id of ids)
      assert.deepEqual(
        (await heardOf(id, 3)).map(({ type }) => type),
        whole,
      )
  })

  it('the books add up', () => checkBooks(office.system))
})
