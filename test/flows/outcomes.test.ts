/** Deliveries that do not go smoothly, seen from outside: each case is a sentence that a postmaster would say. */
import { assert } from 'chai'
import { resume, suspend } from '#src/queue/suspensions.ts'
import { startTestbed, type Testbed, type MessageDetails } from '#test/support/testbed.ts'
import { createSender } from '#test/support/sender.ts'
import { printLogsOnFailure } from '#test/support/system.ts'
import { until } from '#test/support/until.ts'

describe('outcomes', () => {
  let testbed: Testbed
  before(async () => {
    testbed = await startTestbed({ RETRY_SCALE: '0.002' })
  })
  after(() => testbed.stop())
  printLogsOnFailure(() => testbed.system)

  const outcomes = (details: MessageDetails): string[] =>
    details.recipients.flatMap(({ attempts }) => attempts.map(({ outcome }) => outcome))
  const types = (details: MessageDetails): string[] => details.events.map(({ type }) => type)
  /** A rule that answers so for the first messages, and kindly after. */
  const first = (count: number, answer: string) => (): string | undefined => (count-- > 0 ? answer : undefined)

  it('a 4xx twice, then accepted: two deferrals with their replies, and one copy', async () => {
    const mx = await testbed.addReceiver('grey.example', { on: { rcpt: first(2, '451 4.7.1 Greylisted, come again') } })
    const details = await testbed.settle(await testbed.send({ to: 'ann@grey.example' }))
    assert.deepEqual(outcomes(details), ['deferred', 'deferred', 'delivered'])
    assert.deepEqual(types(details), [
      'email.queued',
      'email.deferred',
      'email.deferred',
      'email.sent',
      'email.delivered',
    ])
    assert.match(JSON.stringify(details.events[1]?.data), /451 4\.7\.1 Greylisted/)
    assert.strictEqual(mx.messages.length, 1)
  })

  it('a 4xx every time: fails after the attempts of the tier, with the last reply', async () => {
    await testbed.addReceiver('never.example', { on: { rcpt: '450 4.2.1 Mailbox busy' } })
    const details = await testbed.settle(await testbed.send({ to: 'ann@never.example', tier: 'instant' }))
    assert.deepEqual(outcomes(details), ['deferred', 'deferred', 'deferred', 'deferred', 'deferred', 'deferred'])
    assert.strictEqual(details.status, 'failed')
    assert.match(JSON.stringify(details.events.at(-1)), /email\.failed.*retries-used.*450 4\.2\.1/)
  })

  it('a 5xx: bounced at once, with the reply in the event', async () => {
    await testbed.addReceiver('gone.example', { on: { rcpt: '550 5.1.1 No such user here' } })
    const details = await testbed.settle(await testbed.send({ to: 'nobody@gone.example' }))
    assert.deepEqual(outcomes(details), ['bounced'])
    const data = details.events.at(-1)?.data
    assert.deepEqual(details.events.at(-1)?.type, 'email.bounced')
    const bounce = [data?.['bounce_type'], data?.['bounce_code'], data?.['bounce_message']]
    assert.deepEqual(bounce, ['hard', '5.1.1', '550 5.1.1 No such user here'])
  })

  it('nobody listens at the first MX: the next one gets it', async () => {
    testbed.addUnreachableMx('second.example')
    const mx = await testbed.addReceiver('second.example')
    const details = await testbed.settle(await testbed.send({ to: 'ann@second.example' }))
    assert.deepEqual(outcomes(details), ['delivered'])
    assert.strictEqual(details.recipients[0]?.attempts[0]?.host, 'mx2.second.example')
    assert.match(details.recipients[0]?.attempts[0]?.conversation ?? '', /ECONNREFUSED/)
    assert.strictEqual(mx.messages.length, 1)
  })

  it('the first MX greets with a 4xx: the next one gets it', async () => {
    const busy = await testbed.addReceiver('busy.example', {
      on: { greeting: { reply: '421 4.3.2 Too busy', end: 'close' } },
    })
    const mx = await testbed.addReceiver('busy.example')
    const details = await testbed.settle(await testbed.send({ to: 'ann@busy.example' }))
    assert.deepEqual(outcomes(details), ['delivered'])
    assert.deepEqual([busy.messages.length, mx.messages.length], [0, 1])
  })

  it('no MX answers: deferred without counting a try, and delivered when one returns', async () => {
    let isDown = true
    await testbed.addReceiver('down.example', {
      on: { greeting: () => (isDown ? { reply: '421 4.3.2 Down', end: 'close' } : undefined) },
    })
    const id = await testbed.send({ to: 'ann@down.example' })
    const waiting = await testbed.settle(id, 'deferred')
    assert.strictEqual(waiting.recipients[0]?.tries, 0)
    isDown = false
    const details = await testbed.settle(id)
    assert.strictEqual(details.status, 'delivered')
    assert.strictEqual(details.recipients[0]?.tries, 1)
  })

  it('a null MX: bounced without a connection', async () => {
    testbed.dns.zone['null.example'] = { MX: [[0, '.']], A: ['127.0.0.1'] }
    const details = await testbed.settle(await testbed.send({ to: 'ann@null.example' }))
    assert.strictEqual(details.status, 'bounced')
    assert.match(details.recipients[0]?.reason ?? '', /5\.1\.10 .*null MX/)
  })

  it('a domain that does not exist: bounced', async () => {
    const details = await testbed.settle(await testbed.send({ to: 'ann@no-such-domain.example' }))
    assert.strictEqual(details.status, 'bounced')
    assert.match(details.recipients[0]?.reason ?? '', /5\.1\.2 .*does not exist/)
  })

  it('DNS fails: deferred, never bounced, and delivered when DNS works again', async () => {
    await testbed.addReceiver('servfail.example')
    const healthy = testbed.dns.zone['servfail.example'] ?? {}
    testbed.dns.zone['servfail.example'] = { ...healthy, fault: 'servfail' }
    const id = await testbed.send({ to: 'ann@servfail.example' })
    const waiting = await testbed.settle(id, 'deferred')
    assert.match(waiting.recipients[0]?.reason ?? '', /SERVFAIL/)
    testbed.dns.zone['servfail.example'] = healthy
    const details = await testbed.settle(id)
    assert.strictEqual(details.status, 'delivered')
    assert.ok(!outcomes(details).includes('bounced'))
  })

  it('STARTTLS is offered and broken: once more with older TLS and then without, in the same attempt', async () => {
    const mx = await testbed.addReceiver('tls.example', { handshake: 'drop' })
    const details = await testbed.settle(await testbed.send({ to: 'ann@tls.example' }))
    assert.deepEqual(outcomes(details), ['delivered'])
    assert.strictEqual(details.recipients[0]?.attempts[0]?.tls, null)
    assert.match(details.recipients[0]?.attempts[0]?.conversation ?? '', /trying once more without TLS/)
    assert.deepEqual([mx.connections, mx.messages.length, mx.messages[0]?.tls], [3, 1, false])
  })

  it('the link breaks after the final dot: unknown, and for instant mail sent again', async () => {
    const dropOnce = first(1, 'drop')
    const mx = await testbed.addReceiver('dot.example', {
      on: { dot: () => (dropOnce() === undefined ? undefined : { accepts: true, end: 'reset' }) },
    })
    const details = await testbed.settle(await testbed.send({ to: 'ann@dot.example', tier: 'instant' }))
    assert.deepEqual(outcomes(details), ['unknown', 'delivered'])
    assert.deepEqual(types(details), ['email.queued', 'email.deferred', 'email.sent', 'email.delivered'])
    assert.strictEqual(mx.messages.length, 2)
  })

  it('the link breaks after the final dot: unknown, and bulk mail is assumed sent', async () => {
    const mx = await testbed.addReceiver('bulkdot.example', { on: { dot: { accepts: true, end: 'reset' } } })
    const details = await testbed.settle(await testbed.send({ to: 'ann@bulkdot.example', tier: 'bulk' }))
    assert.deepEqual(outcomes(details), ['unknown'])
    assert.strictEqual(details.status, 'sent')
    assert.strictEqual(mx.messages.length, 1)
  })

  it('a receiver that accepts every copy and disconnects gets no more copies than the tier has attempts', async () => {
    const mx = await testbed.addReceiver('liar.example', { on: { dot: { accepts: true, end: 'reset' } } })
    const details = await testbed.settle(await testbed.send({ to: 'ann@liar.example', tier: 'high' }))
    assert.strictEqual(details.status, 'sent')
    assert.strictEqual(mx.messages.length, 4)
    assert.deepEqual(types(details).slice(-2), ['email.deferred', 'email.sent'])
  })

  it('an expired message: failed with that reason, whatever attempts are left', async () => {
    await testbed.addReceiver('late.example', { on: { mail: '451 4.3.0 Later' } })
    const expiry = new Date(Date.now() + 4000).toISOString()
    const details = await testbed.settle(
      await testbed.send({ to: 'ann@late.example', tier: 'normal', expires_at: expiry }),
    )
    assert.strictEqual(details.status, 'failed')
    assert.match(JSON.stringify(details.events.at(-1)), /too-old/)
    assert.ok(outcomes(details).length < 4, 'tries were left')
  })

  it('several recipients with different outcomes: one copy each, and events numbered 1 to n', async () => {
    const later = first(1, '450 4.2.0 Later')
    const fates: Readonly<Record<string, () => string | undefined>> = {
      'no@fates.example': () => '550 5.1.1 No',
      'full@fates.example': () => '552 5.2.2 Full',
      'later@fates.example': later,
    }
    const mx = await testbed.addReceiver('fates.example', { on: { rcpt: ({ address }) => fates[address]?.() } })
    const details = await testbed.settle(
      await testbed.send({
        to: ['yes@fates.example', 'no@fates.example'],
        cc: ['full@fates.example', 'later@fates.example'],
        bcc: ['hidden@fates.example', 'ann@no-such-domain.example'],
      }),
    )
    const states = Object.fromEntries(details.recipients.map(({ address, state }) => [address, state]))
    assert.deepEqual(states, {
      'yes@fates.example': 'delivered',
      'no@fates.example': 'bounced',
      'full@fates.example': 'bounced',
      'later@fates.example': 'delivered',
      'hidden@fates.example': 'delivered',
      'ann@no-such-domain.example': 'bounced',
    })
    assert.deepEqual(
      details.events.map(({ sequence }) => sequence),
      details.events.map((_, i) => i + 1),
    )
    assert.strictEqual(details.events.length, 6 + 3 * 2 + 3 + 1)
    assert.deepEqual(mx.messages.flatMap(({ to }) => to).toSorted(), [
      'hidden@fates.example',
      'later@fates.example',
      'yes@fates.example',
    ])
  })

  it('a message that cannot be rendered fails; the others are sent', async () => {
    const mx = await testbed.addReceiver('poison.example')
    const { system } = testbed
    await suspend(system, 'poison.example', 'to hold it')
    const ids = await Promise.all(
      Array.from({ length: 5 }, (_, i) => testbed.send({ to: `p${i}@poison.example`, tier: 'high' })),
    )
    const [poisoned = '', ...others] = ids
    await system.db.query(`UPDATE messages SET headers = '{"not": "a list"}' WHERE id = $1::uuid`, [
      poisoned.replace('em_', ''),
    ])
    await resume(system, 'poison.example')
    const details = await testbed.settle(poisoned)
    assert.strictEqual(details.status, 'failed')
    assert.match(JSON.stringify(details.events.at(-1)), /cannot-compose/)
    for (const id of others) assert.strictEqual((await testbed.settle(id)).status, 'delivered')
    assert.strictEqual(mx.messages.length, 4)
  })

  it('the sending domain is removed while its mail is queued: failed with that reason', async () => {
    const {
      system,
      system: { db, encryption, config },
    } = testbed
    const mx = await testbed.addReceiver('orphan.example')
    const sender = await createSender({ db, encryption, keyPrefix: config.keyPrefix }, { domain: 'removed.example' })
    await suspend(system, 'orphan.example', 'to hold it')
    const { status, body } = await system.call('POST', '/send-email/high', {
      key: sender.regular,
      body: { from: 'shop@removed.example', to: 'ann@orphan.example', subject: 'Hello', text: 'Hello' },
    })
    assert.strictEqual(status, 200)
    await db.query('DELETE FROM domains WHERE id = $1', [sender.domainId])
    await resume(system, 'orphan.example')
    const id = body['email_id'] as unknown as string
    const states = (): Promise<{ rows: { state: string; reason: string }[] }> =>
      db.query(`SELECT state, reason FROM recipients WHERE message_id = $1::uuid`, [id.replace('em_', '')])
    await until(
      async () => (await states()).rows[0]?.state === 'failed',
      () => 'it has not failed',
    )
    assert.match((await states()).rows[0]?.reason ?? '', /the sending domain of shop@removed\.example was removed/)
    assert.strictEqual(mx.messages.length, 0)
  })
})
