/** Throttles of receivers, shared by two outbound processes: limits, how replies change them, and what is stored. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { assert } from 'chai'
import { sharesKey } from '#mta/shaping/quota-share.ts'
import { startTestbed, type Testbed } from '#test/support/testbed.ts'
import type { Receiver } from '#test/support/receiver.ts'
import { createSender } from '#test/support/sender.ts'
import { startReceiver } from '#test/support/receiver.ts'
import { printLogsOnFailure } from '#test/support/system.ts'
import { until } from '#test/support/until.ts'

/** Two sites of one receiver that allows four connections, of which one is kept for instant mail. */
const FILE = `receivers:
  big: {domains: [a.example, b.example], provider_wide: true, connections: 4, messages_per_connection: 5}
  yahoo: {domains: [ts.example], provider_wide: true, connections: 2, messages_per_connection: 5}
  slow: {domains: [slow.example], provider_wide: true, connections: 8, messages_per_connection: 100}
  rated:
    domains: [rated.example]
    provider_wide: true
    connections: 8
    messages_per_connection: 1
    message_rate: 20/s
    connection_rate: 20/s
  transport-map: {connections: 20, messages_per_connection: 1000}
  default: {connections: 10, messages_per_connection: 100}
rules:
  - {name: yahoo-ts04, receiver: yahoo, code: 421, text: '\\[TSS04\\]', action: suspend, for: 2h}
  - {name: too-many, code: 421, text: too many, action: slow}
`
const MAIL = 120

describe('the throttle of a receiver', () => {
  const dir = mkdtempSync('/tmp/mailstead-pace-')
  const file = join(dir, 'shaping.yaml')
  let testbed: Testbed

  before(async () => {
    writeFileSync(file, FILE)
    testbed = await startTestbed({ SHAPING_FILE: file })
    await testbed.system.roles.mta2.start()
  })
  after(async () => {
    await testbed.stop()
    rmSync(dir, { recursive: true, force: true })
  })
  printLogsOnFailure(() => testbed.system)

  async function cli(...args: string[]): Promise<string> {
    const { databaseUrl, redisUrl } = testbed.system.config
    const env = {
      PATH: process.env['PATH'],
      DATABASE_URL: databaseUrl ?? '',
      REDIS_URL: redisUrl ?? '',
      SHAPING_FILE: file,
      DATA_DIR: dir,
    }
    return (await promisify(execFile)('bin/mailstead', [...args, '--json'], { env })).stdout
  }
  async function sendMany(domains: readonly string[], count: number): Promise<void> {
    for (let from = 0; from < count; from += 20)
      await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          testbed.send({ to: `m${from + i}@${domains[i % domains.length] ?? ''}`, tier: 'normal' }),
        ),
      )
  }
  /** Open at once at most, as the receivers see it while mail comes. */
  function watchOpen(receivers: readonly Receiver[], delayMs: number): () => number {
    let most = 0
    const look = (): { delayMs: number } => {
      most = Math.max(
        most,
        receivers.reduce((sum, one) => sum + one.open, 0),
      )
      return { delayMs }
    }
    for (const one of receivers) one.script = { on: { mail: look, dot: look } }
    return () => most
  }
  const shares = async (pace: string): Promise<string[]> =>
    Object.entries(await testbed.system.redis.hgetall(sharesKey(pace, 'default')))
      .filter(([name]) => name.startsWith('p:'))
      .map(([, value]) => value)

  it('two processes and two sites together never have more connections open than it allows', async () => {
    const receivers = [await testbed.addReceiver('a.example'), await testbed.addReceiver('b.example')]
    const most = watchOpen(receivers, 10)
    await sendMany(['a.example', 'b.example'], MAIL)
    await until(() => receivers.reduce((sum, { messages }) => sum + messages.length, 0) === MAIL)
    assert.ok(most() <= 4, `${most()} were open`)
    assert.ok(most() >= 2, 'they work side by side')
  })

  it('one process is killed: the other gets its share', async () => {
    const receiver = await testbed.addReceiver('b.example')
    testbed.dns.zone['a.example'] = testbed.dns.zone['b.example'] ?? {}
    receiver.script = { on: { dot: { delayMs: 50 } } }
    await sendMany(['b.example'], 60)
    await testbed.system.roles.mta2.kill()
    await until(
      async () => (await shares('big')).length <= 1,
      () => 'what it had is still booked',
    )
    await testbed.system.roles.mta2.start()
  })

  it('a reply rule suspends it without counting attempts; after resume its mail is sent', async () => {
    const yahoo = await testbed.addReceiver('ts.example', {
      on: { mail: '421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred' },
    })
    const first = await testbed.send({ to: 'first@ts.example' })
    await until(() => yahoo.connections > 0)
    await until(async () => (await cli('queue', 'status')).includes('yahoo-ts04'))
    const [suspended] = (
      JSON.parse(await cli('shaping', 'status')) as { suspensions: { pace: string; rule: string; until: string }[] }
    ).suspensions
    assert.deepEqual([suspended?.pace, suspended?.rule], ['yahoo', 'yahoo-ts04'])
    const connections = yahoo.connections
    const second = await testbed.send({ to: 'second@ts.example' })
    const explained = async (): Promise<boolean> =>
      /"held_by": "suspension"[^]*yahoo-ts04/.test(await cli('explain', second))
    await until(explained, () => 'it is not explained')
    for (const role of [testbed.system.roles.mta, testbed.system.roles.mta2]) {
      await role.terminate()
      await role.start()
    }
    await testbed.settle(await testbed.send({ to: 'meanwhile@a.example' }))
    assert.strictEqual(yahoo.connections, connections, 'it is left alone, by processes started since, too')
    yahoo.script = {}
    await cli('shaping', 'resume', 'yahoo')
    for (const id of [first, second]) assert.strictEqual((await testbed.settle(id)).status, 'delivered')
    assert.deepEqual(
      (await testbed.getMessage(second)).recipients.map(({ attempts }) => attempts.length),
      [1],
      'waiting was no try',
    )
  })

  it('throttling replies halve it, and the learned limit survives restarts and the loss of Redis', async () => {
    const receiver = await testbed.addReceiver('slow.example', {
      on: { mail: '421 4.7.0 Too many connections from you' },
    })
    await testbed.send({ to: 'x@slow.example' })
    const learned = async (): Promise<number | undefined> =>
      (
        await testbed.system.db.query<{ connections: number }>(
          `SELECT connections FROM learned_limits WHERE pace = 'slow'`,
        )
      ).rows[0]?.connections
    await until(
      async () => ((await learned()) ?? 8) <= 4,
      () => 'nothing was learned',
    )
    const { roles, redis } = testbed.system
    for (const role of [roles.mta, roles.mta2]) await role.terminate()
    const before = await learned()
    await redis.flushall()
    receiver.script = {}
    await roles.mta.start()
    const id = await testbed.send({ to: 'y@slow.example' })
    await testbed.settle(id)
    // it recovers slowly from its first success on; if it were lost, it would be the limit of the rules
    const restored = Number(await redis.hget(sharesKey('slow', 'default'), 'learned'))
    assert.isDefined(before)
    assert.isTrue(restored >= (before ?? 0) && restored < (before ?? 0) + 1, `${before}, then ${restored}`)
  })

  it('stays within its rates', async () => {
    const receiver = await testbed.addReceiver('rated.example')
    const began = performance.now()
    await sendMany(['rated.example'], 60)
    await until(() => receiver.messages.length === 60)
    const seconds = (performance.now() - began) / 1000
    assert.ok(receiver.messages.length <= 20 * (seconds + 1), `60 in ${seconds} s`)
  })

  it('an invalid shaping file is ignored, a valid one applies without a restart', async () => {
    const log = (): string => readFileSync(testbed.system.roles.mta.logFile, 'utf8')
    writeFileSync(file, 'receivers: [')
    await until(
      () => log().includes('shaping file is invalid'),
      () => 'nobody complained',
    )
    const receiver = await testbed.addReceiver('late.example')
    assert.strictEqual((await testbed.settle(await testbed.send({ to: 'x@late.example' }))).status, 'delivered')
    writeFileSync(
      file,
      FILE.replace('  slow:', '  late: {domains: [late.example], connections: 1, messages_per_connection: 9}\n  slow:'),
    )
    await until(
      () => log().includes('shaping file reloaded'),
      () => 'it was not read',
    )
    await until(() => receiver.open === 0)
    const most = watchOpen([receiver], 5)
    await sendMany(['late.example'], 40)
    await until(() => receiver.messages.length === 41)
    assert.strictEqual(most(), 1)
  })

  it("one workspace's many do not delay another's few", async () => {
    const { system } = testbed
    const accepted = Promise.withResolvers<void>()
    const script = { on: { dot: { gate: accepted.promise, delayMs: 20 } } }
    const receiver = await testbed.addReceiver('shared.example', script)
    const other = await createSender(
      { db: system.db, encryption: system.encryption, keyPrefix: system.config.keyPrefix },
      { domain: 'few.example' },
    )
    await sendMany(['shared.example'], 400)
    for (let i = 0; i < 20; i++)
      await system.call('POST', '/send-email/async', {
        key: other.regular,
        body: { from: `shop@${other.domain}`, to: `few${i}@shared.example`, subject: 'x', text: 'x' },
      })
    accepted.resolve()
    await receiver.until(420)
    const lastOfFew = receiver.messages.findLastIndex(({ to }) => to[0]?.startsWith('few'))
    assert.isBelow(lastOfFew, 399, 'the last of the few came after all of the many')
    assert.lengthOf(
      receiver.messages.filter(({ to }) => to[0]?.startsWith('few')),
      20,
    )
  })

  it('a suspended workspace: its mail is accepted and waits with the reason; after resume it is sent', async () => {
    await testbed.addReceiver('paused.example')
    const { workspaceId } = testbed.system
    await cli('workspace', 'pause', workspaceId, '--reason', 'they asked for it')
    const id = await testbed.send({ to: 'x@paused.example' })
    await until(
      async () => /"held_by": "suspension"[^]*they asked for it/.test(await cli('explain', id)),
      () => 'it is not explained',
    )
    await cli('workspace', 'resume', workspaceId)
    assert.strictEqual((await testbed.settle(id)).status, 'delivered')
    await assert.isRejected(cli('workspace', 'resume', workspaceId), /is not paused/)
  })

  it('a dead site that returns gets its mail without a burst of connections', async () => {
    testbed.addUnreachableMx('dead.example')
    await sendMany(['dead.example'], 20)
    await until(async () => (await cli('queue', 'status')).includes('deferred'))
    const address = testbed.dns.zone['mx1.dead.example']?.A?.[0] ?? ''
    const receiver = await startReceiver({}, { host: address, port: testbed.system.config.smtpOutPort })
    const most = watchOpen([receiver], 5)
    // On a busy machine a message may have failed three times, and would wait for over a minute.
    await until(
      async () => (await cli('queue', 'retry', '--domain', 'dead.example')) !== '' && receiver.messages.length >= 20,
      async () => `${receiver.messages.length} arrived; ${await cli('queue', 'status')}`,
    )
    assert.strictEqual(receiver.messages.length, 20)
    assert.ok(most() <= 10)
    await receiver.stop()
  })
})
