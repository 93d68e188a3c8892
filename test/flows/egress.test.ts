/** The source addresses that mail leaves from, as receivers see them: real addresses, real processes. */
import { execFileSync } from 'node:child_process'
import { assert } from 'chai'
import { systemClock } from '#src/platform/clock.ts'
import { addPool, addToPool, setEgressPool } from '#src/egress/pools.ts'
import { addSource, findSource, pauseSource, removeSource, setWarmUp, type NewSource } from '#src/egress/sources.ts'
import { explainMessage } from '#src/messages/explain.ts'
import { idOfHex } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { rankSources } from '#mta/egress/source-ranking.ts'
import { startReceiver } from '#test/support/receiver.ts'
import { startTestbed, type Testbed } from '#test/support/testbed.ts'
import { printLogsOnFailure } from '#test/support/system.ts'
import { until } from '#test/support/until.ts'

/** On lo for a moment: a documentation address, that is nowhere else. */
const LEAVING = '198.51.100.71'

function ip(...args: readonly string[]): boolean {
  try {
    execFileSync('ip', args, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

describe('egress', () => {
  let testbed: Testbed
  const stores = (): { db: Testbed['system']['db']; clock: typeof systemClock } => ({
    db: testbed.system.db,
    clock: systemClock,
  })

  before(async () => {
    testbed = await startTestbed({ WARM_UP: '3,6', OUTBOUND_SESSIONS: '20' })
  })
  after(async () => {
    ip('addr', 'del', `${LEAVING}/32`, 'dev', 'lo')
    await testbed.stop()
  })
  printLogsOnFailure(() => testbed.system)
  afterEach(async () => {
    await testbed.system.db.query('DELETE FROM egress_sources')
    await testbed.system.db.query('DELETE FROM egress_pools')
  })

  /** Added, and found by the outbound process. */
  async function add(name: string, address: string, order: Partial<NewSource> = {}): Promise<void> {
    const usual = {
      ehloName: `${name}.out.example`,
      region: 'us-east-1',
      pool: null,
      weight: 1,
      isWarmingUp: false,
    } as const
    const added = await addSource(stores(), { name, address, ...usual, ...order })
    assert.strictEqual(added.kind, 'added', JSON.stringify(added))
    await until(
      async () => (await findSource(testbed.system.db, name))?.state !== 'gone',
      () => `${name} is not found`,
    )
  }

  const sendMany = (domain: string, count: number): Promise<string[]> =>
    Promise.all(Array.from({ length: count }, (_, i) => testbed.send({ to: `r${i}@${domain}`, tier: 'high' })))

  it("without a source: the system's address and the server's name", async () => {
    const mx = await testbed.addReceiver('plain.example')
    await testbed.settle(await testbed.send({ to: 'a@plain.example' }))
    assert.strictEqual(mx.messages[0]?.helo, 'mta.sender.example')
  })

  it("each connection comes from a source's address under its name, and the attempt says which", async () => {
    await add('one', '127.0.0.2')
    await add('two', '127.0.0.3')
    const mx = await testbed.addReceiver('many.example')
    const ids = await sendMany('many.example', 40)
    for (const id of ids) await testbed.settle(id)
    const seen = new Set(mx.messages.map(({ peer, helo }) => `${peer} ${helo}`))
    assert.deepEqual([...seen].toSorted(), ['127.0.0.2 one.out.example', '127.0.0.3 two.out.example'])
    const { rows } = await testbed.system.db.query<{ source: string; n: number }>(
      `SELECT source, count(*)::int AS n FROM attempts WHERE host LIKE '%many.example' GROUP BY source`,
    )
    assert.deepEqual(Object.fromEntries(rows.map(({ source, n }) => [source, n])), {
      one: mx.messages.filter(({ peer }) => peer === '127.0.0.2').length,
      two: mx.messages.filter(({ peer }) => peer === '127.0.0.3').length,
    })
  })

  it('all attempts and recipients of a message use the same source', async () => {
    for (const n of [2, 3, 4, 5]) await add(`s${n}`, `127.0.0.${n}`)
    const mx = await testbed.addReceiver('retry.example', { on: { rcpt: '451 4.2.1 come again' } })
    const pairs = Array.from({ length: 8 }, (_, i) => [`a${i}@retry.example`, `b${i}@retry.example`])
    const ids = await Promise.all(pairs.map((to) => testbed.send({ to, tier: 'high' })))
    await until(
      async () => {
        const {
          rows: [row],
        } = await testbed.system.db.query<{ n: number }>(
          `SELECT count(*)::int AS n FROM attempts WHERE host LIKE '%retry.example'`,
        )
        return (row?.n ?? 0) >= 24
      },
      () => 'they are not tried again',
    )
    mx.script = {}
    for (const id of ids) await testbed.settle(id)
    const { rows } = await testbed.system.db.query<{ n: number }>(sql`
      SELECT count(DISTINCT source)::int AS n
      FROM attempts
      WHERE host LIKE '%retry.example'
      GROUP BY message_id
    `)
    assert.strictEqual(rows.length, 8)
    assert.ok(
      rows.every(({ n }) => n === 1),
      JSON.stringify(rows),
    )
  })

  it('a workspace and a domain may have a pool of their own', async () => {
    await add('common', '127.0.0.2')
    await add('own', '127.0.0.3', { pool: 'vip' })
    const { db, workspaceId } = testbed.system
    const mx = await testbed.addReceiver('own.example')
    await testbed.settle(await testbed.send({ to: 'a@own.example' }))
    assert.strictEqual(await setEgressPool(db, { table: 'workspaces', id: workspaceId }, 'vip'), null)
    await until(
      async () => {
        await testbed.settle(await testbed.send({ to: 'a@own.example' }))
        return mx.messages.at(-1)?.peer === '127.0.0.3'
      },
      () => 'the pool of the workspace is not used',
    )
    assert.strictEqual(mx.messages[0]?.peer, '127.0.0.2')
    await setEgressPool(db, { table: 'workspaces', id: workspaceId }, null)
  })

  it('an IPv6 source sends to hosts with an IPv6 address, an IPv4 source to the others', async function () {
    const six = await startReceiver({}, { host: '::1', port: testbed.system.config.smtpOutPort }).catch(() => null)
    if (six === null) this.skip()
    await add('four', '127.0.0.2')
    await add('six', '::1', { weight: 1000 })
    const four = await testbed.addReceiver('old.example')
    testbed.dns.zone['new.example'] = { MX: [[10, 'mx.new.example']] }
    testbed.dns.zone['mx.new.example'] = { AAAA: ['::1'] }
    const ids = [...(await sendMany('old.example', 5)), ...(await sendMany('new.example', 5))]
    for (const id of ids) assert.strictEqual((await testbed.settle(id)).status, 'delivered')
    assert.deepEqual(new Set(four.messages.map(({ peer }) => peer)), new Set(['127.0.0.2']))
    assert.deepEqual(new Set(six.messages.map(({ peer }) => peer)), new Set(['::1']))
    await pauseSource(stores(), 'four')
    // the process learns of the pause by a notification: until then a message may still leave from there
    let details: Awaited<ReturnType<Testbed['getMessage']>> | undefined
    const isDeferred = async (): Promise<boolean> => {
      const id = await testbed.send({ to: 'late@old.example', tier: 'bulk' })
      await until(
        async () => ['delivered', 'deferred'].includes((await testbed.getMessage(id)).status),
        () => 'it was not tried',
      )
      details = await testbed.getMessage(id)
      return details.status === 'deferred'
    }
    await until(isDeferred, () => `it is ${JSON.stringify(details, null, 1)}`)
    assert.match(
      details?.recipients[0]?.reason ?? '',
      /has only 127\.0\.1\.\d+, and no available source has that address family/,
    )
    assert.strictEqual(details?.recipients[0]?.tries, 0)
    await six.stop()
  })

  it('mail over the warm-up limit waits without an attempt, explain says why; an added source sends it', async () => {
    await add('warm', '127.0.0.2', { isWarmingUp: true })
    const mx = await testbed.addReceiver('slow.example')
    const ids = await sendMany('slow.example', 5)
    await mx.until(3)
    const { db } = testbed.system
    const waiting = async (): Promise<string[]> => {
      const details = await Promise.all(ids.map(async (id) => ({ ...(await testbed.getMessage(id)), id })))
      const isHeld = ({ state, reason }: { state: string; reason: string | null }): boolean =>
        state === 'queued' && /warm is warming up/.test(reason ?? '')
      return details.filter(({ recipients }) => recipients.some(isHeld)).map(({ id }) => id)
    }
    await until(
      async () => (await waiting()).length === 2,
      () => 'two do not wait',
    )
    const [one = ''] = await waiting()
    const details = await testbed.getMessage(one)
    assert.deepEqual([details.recipients[0]?.tries, details.recipients[0]?.attempts.length], [0, 0])
    assert.deepEqual(
      details.events.map(({ type }) => type),
      ['email.queued'],
    )
    const asking = { db, redis: null, plans: {}, retryScale: 1, reconcileSeconds: 1 }
    const explained = await explainMessage(asking, null, idOfHex(one.replace('em_', '')) ?? '', new Date())
    assert.strictEqual(explained?.recipients[0]?.heldBy, 'egress')
    assert.match(explained?.recipients[0]?.says ?? '', /warm is warming up.*more from .*T00:00:00/)
    assert.ok(explained?.recipients[0]?.until instanceof Date)
    assert.strictEqual(mx.messages.length, 3)
    await setWarmUp(stores(), 'warm', false)
    await add('warm2', '127.0.0.3')
    // the operator's "retry now", for all of it
    await db.query(`UPDATE recipients SET due_at = now() WHERE state = 'queued'`)
    await testbed.system.redis.del('mailstead:{due}:epoch')
    for (const id of ids) assert.strictEqual((await testbed.settle(id)).status, 'delivered')
  })

  it('kill -9 of the process: a source in warm-up stays within its daily limit', async () => {
    await add('warm', '127.0.0.2', { isWarmingUp: true })
    await add('old', '127.0.0.3')
    const mx = await testbed.addReceiver('killed.example')
    const ids = await sendMany('killed.example', 15)
    await mx.until(1)
    await testbed.system.roles.mta.kill()
    await testbed.system.startMissing()
    for (const id of ids) assert.strictEqual((await testbed.settle(id)).status, 'delivered')
    assert.ok(mx.messages.filter(({ peer }) => peer === '127.0.0.2').length <= 3)
  })

  it('mail of an address that leaves the machine uses other sources until the address is back', async function () {
    const leaving = LEAVING
    if (!ip('addr', 'add', `${leaving}/32`, 'dev', 'lo')) this.skip()
    await add('leaving', leaving, { weight: 1000 })
    await add('staying', '127.0.0.3')
    const mx = await testbed.addReceiver('gone.example')
    const { db } = testbed.system
    const sources = async (weight: number): Promise<readonly { id: string; weight: number; address: string }[]> => {
      const [one, other] = [await findSource(db, 'leaving'), await findSource(db, 'staying')]
      assert.ok(one !== null && other !== null)
      return [
        { ...one, weight },
        { ...other, weight: 1 },
      ]
    }
    // of a thousand messages one goes by the other source: the ranking says which
    const sendOne = async (to: string, weight: number): Promise<void> => {
      const id = await testbed.send({ to })
      await testbed.settle(id)
      const [first] = rankSources(idOfHex(id.replace('em_', '')) ?? '', await sources(weight))
      assert.strictEqual(mx.messages.at(-1)?.peer, first?.address)
    }
    await sendOne('first@gone.example', 1000)
    ip('addr', 'del', `${leaving}/32`, 'dev', 'lo')
    const ids = await sendMany('gone.example', 10)
    for (const id of ids) {
      const details = await testbed.settle(id)
      assert.strictEqual(details.status, 'delivered')
      assert.strictEqual(details.recipients[0]?.attempts.length, 1, JSON.stringify(details.recipients[0]?.attempts))
    }
    assert.strictEqual((await findSource(testbed.system.db, 'leaving'))?.state, 'gone')
    assert.deepEqual(new Set(mx.messages.slice(1).map(({ peer }) => peer)), new Set(['127.0.0.3']))
    ip('addr', 'add', `${leaving}/32`, 'dev', 'lo')
    await addToPool(testbed.system.db, 'us-east', { source: 'leaving', weight: 999 }) // any change makes it look
    await until(
      async () => (await findSource(testbed.system.db, 'leaving'))?.state === 'active',
      () => 'it is not back',
    )
    await sendOne('last@gone.example', 999)
  })

  it('a source can be removed while it sends mail', async () => {
    await add('a', '127.0.0.2')
    await add('b', '127.0.0.3')
    const mx = await testbed.addReceiver('removed.example')
    const ids = await sendMany('removed.example', 30)
    await removeSource(testbed.system.db, 'a')
    for (const id of ids) assert.strictEqual((await testbed.settle(id)).status, 'delivered')
    assert.strictEqual(mx.messages.length, 30)
    assert.strictEqual(await addPool(stores(), 'us-east'), 'a pool named us-east already exists')
  })
})
