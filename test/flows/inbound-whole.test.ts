/**
 * The whole cycle, with all processes: a message is sent, bounces or is refused, and the next one to that address is
 * not sent.
 */
import { assert } from 'chai'
import { startInbound, type Inbound } from '#mta/inbound/inbound.ts'
import { systemClock } from '#src/platform/clock.ts'
import { openLog } from '#src/platform/log.ts'
import { startTestbed, type Testbed } from '#test/support/testbed.ts'
import { arfOf, dsnOf } from '#test/support/reports.ts'
import { submitMessage } from '#test/support/smtp-connection.ts'
import { printLogsOnFailure } from '#test/support/system.ts'
import { until } from '#test/support/until.ts'

describe('bounces and complaints with all processes', () => {
  let testbed: Testbed
  let inbound: Inbound
  before(async () => {
    testbed = await startTestbed()
    const { config, db, redis, encryption } = testbed.system
    const log = openLog({ logLevel: 'silent' }, 'test')
    inbound = await startInbound({
      config: { ...config, inboundPort: 0 },
      db,
      redis,
      encryption,
      clock: systemClock,
      log,
      tracer: null,
    })
  })
  after(async () => {
    await inbound.stop()
    await testbed.stop()
  })
  printLogsOnFailure(() => testbed.system)

  it('refused as unknown: the next mail to the address is not sent', async () => {
    const mx = await testbed.addReceiver('gone.example', { on: { rcpt: '550 5.1.1 No such user here' } })
    assert.strictEqual((await testbed.settle(await testbed.send({ to: 'nobody@gone.example' }))).status, 'bounced')
    const asked = mx.commands.filter(({ line }) => /^RCPT/i.test(line)).length
    const details = await testbed.settle(await testbed.send({ to: 'Nobody@gone.example' }))
    assert.strictEqual(details.status, 'suppressed')
    assert.match(JSON.stringify(details.events.at(-1)?.data), /hard bounce: No such user here/)
    assert.strictEqual(mx.commands.filter(({ line }) => /^RCPT/i.test(line)).length, asked)
  })

  it('a late bounce to the return-path: the next mail to the address is not sent', async () => {
    const mx = await testbed.addReceiver('late.example')
    const id = await testbed.send({ to: 'ann@late.example' })
    assert.strictEqual((await testbed.settle(id)).status, 'delivered')
    const [mail] = await mx.until(1)
    await submitMessage(inbound.port, {
      from: '',
      to: mail?.from ?? '',
      content: dsnOf({ recipient: 'ann@late.example' }),
    })
    const details = await testbed.settle(id, 'bounced')
    const events = details.events.map(({ type, sequence }) => `${sequence} ${type}`)
    assert.deepEqual(events, ['1 email.queued', '2 email.sent', '3 email.delivered', '4 email.bounced'])
    assert.strictEqual((await testbed.settle(await testbed.send({ to: 'ann@late.example' }))).status, 'suppressed')
  })

  it('a complaint about one of two recipients: an event for that one, who gets no more mail', async () => {
    const mx = await testbed.addReceiver('two.example')
    const id = await testbed.send({ to: ['ann@two.example', 'bob@two.example'] })
    await testbed.settle(id)
    const mails = await mx.until(2)
    const bobs = mails.find(({ to }) => to.includes('bob@two.example'))
    await submitMessage(inbound.port, { from: 'fbl@two.example', to: bobs?.from ?? '', content: arfOf() })
    await until(async () => (await testbed.getMessage(id)).events.some(({ type }) => type === 'email.complained'))
    const next = await testbed.settle(await testbed.send({ to: ['ann@two.example'] }))
    assert.strictEqual(next.status, 'delivered')
    assert.strictEqual((await testbed.settle(await testbed.send({ to: 'bob@two.example' }))).status, 'suppressed')
    const { events } = await testbed.getMessage(id)
    assert.deepEqual(
      events.filter(({ type }) => type === 'email.complained').map(({ recipient }) => recipient),
      ['bob@two.example'],
    )
    assert.deepEqual(
      events.map(({ sequence }) => sequence),
      events.map((_, i) => i + 1),
    )
  })
})
