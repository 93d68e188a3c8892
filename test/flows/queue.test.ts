/**
 * The queue as operator and customers see it: scheduling, cancelling, suspending, priorities, stopping and starting
 * processes.
 */
import { assert } from 'chai'
import { EPOCH_KEY } from '#src/queue/keys.ts'
import { resume, suspend } from '#src/queue/suspensions.ts'
import { checkConsistency } from '#test/support/consistency-checks.ts'
import { waitUntilDrained, Ledger } from '#test/support/ledger.ts'
import { startTestbed, type Testbed } from '#test/support/testbed.ts'
import { printLogsOnFailure } from '#test/support/system.ts'
import { until } from '#test/support/until.ts'

const HOUR_MS = 3600 * 1000

describe('queue', () => {
  let testbed: Testbed
  before(async () => {
    testbed = await startTestbed({ RETRY_SCALE: '0.002' })
  })
  after(() => testbed.stop())
  printLogsOnFailure(() => testbed.system)

  /** As if all that is scheduled were an hour nearer. */
  async function passAnHour(): Promise<void> {
    const { db, redis } = testbed.system
    await db.query(`UPDATE messages SET scheduled_at = scheduled_at - interval '1 hour' WHERE scheduled_at IS NOT NULL`)
    await db.query(`UPDATE recipients SET due_at = due_at - interval '1 hour' WHERE state = 'scheduled'`)
    await redis.del(EPOCH_KEY)
  }

  async function schedule(to: string, atMs: number): Promise<string> {
    const { status, body } = await testbed.system.call('POST', '/send-email/schedule', {
      body: {
        from: 'shop@sender.example',
        to,
        subject: 'Later',
        text: 'Later',
        scheduled_at: new Date(atMs).toISOString(),
        priority: 'high',
      },
    })
    assert.strictEqual(status, 200)
    return body['email_id'] as unknown as string
  }

  it('a scheduled message waits for its time, and a cancelled one is never sent', async () => {
    const mx = await testbed.addReceiver('later.example')
    const at = Date.now() + HOUR_MS - 1000
    const kept = await schedule('kept@later.example', at)
    const taken = await schedule('taken@later.example', at)
    const tomorrow = await schedule('far@later.example', at + 24 * HOUR_MS)
    const list = await testbed.system.call('GET', '/send-email/scheduled')
    assert.strictEqual(list.body['data']?.['total'], 3)
    const cancel = async (id: string): Promise<number> =>
      (await testbed.system.call('DELETE', `/send-email/schedule/${id}`)).status
    assert.deepEqual([await cancel(taken), await cancel(taken)], [200, 200])

    await passAnHour()
    assert.strictEqual((await testbed.settle(kept)).status, 'delivered')
    assert.strictEqual(await cancel(kept), 409)
    const details = await testbed.getMessage(taken)
    assert.deepEqual(
      details.events.map(({ type }) => type),
      ['email.scheduled', 'email.cancelled'],
    )
    assert.strictEqual((await testbed.getMessage(tomorrow)).status, 'scheduled')
    assert.deepEqual(
      mx.messages.flatMap(({ to }) => to),
      ['kept@later.example'],
    )
    assert.strictEqual(await cancel(tomorrow), 200)
  })

  it('a suspended destination gets no mail and no attempt is counted; after resume it gets all', async () => {
    const [suspended, other] = [await testbed.addReceiver('held.example'), await testbed.addReceiver('other.example')]
    await suspend(testbed.system, 'held.example', 'their postmaster asked')
    const ids = await Promise.all(
      Array.from({ length: 20 }, (_, i) => testbed.send({ to: `h${i}@held.example`, tier: 'high' })),
    )
    assert.strictEqual(
      (await testbed.settle(await testbed.send({ to: 'o@other.example', tier: 'bulk' }))).status,
      'delivered',
    )
    for (const id of ids) {
      const { recipients } = await testbed.getMessage(id)
      assert.deepEqual(
        recipients.map(({ state, tries, attempts }) => [state, tries, attempts.length]),
        [['queued', 0, 0]],
      )
    }
    assert.deepEqual([suspended.connections, other.messages.length], [0, 1])
    await resume(testbed.system, 'held.example')
    for (const id of ids) assert.strictEqual((await testbed.settle(id)).status, 'delivered')
    assert.strictEqual(suspended.messages.length, 20)
    assert.deepEqual(await testbed.system.redis.keys('*suspended:*'), [], 'nothing is left of what was kept aside')
  })

  it('an instant message overtakes the bulk backlog of the same site', async () => {
    const mx = await testbed.addReceiver('crowd.example', { on: { dot: { delayMs: 80 } } })
    const ledger = new Ledger(testbed.system)
    await ledger.load({ count: 400, tiers: ['bulk'], domain: 'crowd.example', clients: 16 })
    const id = await testbed.send({ to: 'code@crowd.example', tier: 'instant' })
    assert.strictEqual((await testbed.settle(id)).status, 'delivered')
    const position = mx.messages.findIndex(({ to }) => to[0] === 'code@crowd.example')
    mx.script = {}
    await waitUntilDrained(testbed.system)
    assert.strictEqual(mx.messages.length, 401)
    assert.ok(400 - position > 100, `${position} of 400 were sent before it`)
  })

  it('instant mail to a receiver that hangs does not delay other destinations', async () => {
    const tarpit = await testbed.addReceiver('tarpit.example', { on: { greeting: { end: 'silence' } } })
    const mx = await testbed.addReceiver('quick.example')
    const ledger = new Ledger(testbed.system)
    await ledger.load({ count: 700, tiers: ['instant'], domain: 'tarpit.example', clients: 16 })
    await until(() => tarpit.open > 0)
    for (const tier of ['instant', 'high', 'bulk'] as const) {
      assert.strictEqual(
        (await testbed.settle(await testbed.send({ to: `${tier}@quick.example`, tier }))).status,
        'delivered',
      )
    }
    assert.deepEqual([tarpit.messages.length, mx.messages.length], [0, 3])
    assert.ok(tarpit.open <= 10, `${tarpit.open} connections to the one that hangs`)
    await suspend(testbed.system, 'tarpit.example', 'it has served its purpose')
    await tarpit.stop()
  })

  it('SIGTERM under load: sessions finish, other messages are released, and none is sent twice', async () => {
    const mx = await testbed.addReceiver('restart.example', { on: { dot: { delayMs: 20 } } })
    const ledger = new Ledger(testbed.system)
    const loading = ledger.load({ count: 500, domain: 'restart.example', clients: 16 })
    for (const share of [50, 150, 250]) {
      await until(() => mx.messages.length > share)
      assert.strictEqual(await testbed.system.roles.mta.terminate(), 0)
      const { rows } = await testbed.system.db.query(`SELECT address FROM recipients WHERE state = 'sending'`)
      assert.deepEqual(rows, [])
      assert.deepEqual((await testbed.system.db.query('SELECT id FROM leases')).rows, [])
      await testbed.system.roles.mta.start()
    }
    await loading
    await until(() => ledger.copies(mx.messages).size === 500)
    assert.deepEqual(ledger.compare(mx.messages), { lost: [], duplicated: [], unexpected: [] })
  })

  it('MESSAGE_LIFETIME_SECONDS ends what waits longer, on every tier', async () => {
    await testbed.addReceiver('old.example', { on: { mail: '451 4.3.0 Later' } })
    await testbed.system.roles.mta.terminate()
    await testbed.system.roles.mta.start({ MESSAGE_LIFETIME_SECONDS: '0.5', RETRY_SCALE: '0.0005' })
    const id = await testbed.send({ to: 'ann@old.example', tier: 'bulk' })
    const details = await testbed.settle(id)
    assert.strictEqual(details.status, 'failed')
    assert.match(JSON.stringify(details.events.at(-1)), /too-old/)
    await testbed.system.roles.mta.terminate()
    await testbed.system.roles.mta.start()
  })

  it('the stored data is consistent', () => checkConsistency(testbed.system))
})
