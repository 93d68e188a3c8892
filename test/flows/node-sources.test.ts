/** Two nodes with different sources: each sends the mail of its pools, and none claims what it cannot send. */
import { assert } from 'chai'
import { loadConfig } from '#config/load.ts'
import { loadPlans } from '#config/plans.ts'
import { main } from '#mta/main.ts'
import { addPool, addToPool, setEgressPool } from '#src/egress/pools.ts'
import { addSource } from '#src/egress/sources.ts'
import { createAcceptor } from '#src/messages/accept.ts'
import { explainMessage } from '#src/messages/explain.ts'
import { readMessage } from '#src/messages/read.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { startDns, type TestDns } from '#test/support/dns.ts'
import { startReceiver, type Receiver } from '#test/support/receiver.ts'
import { createSender, type Sender } from '#test/support/sender.ts'
import { submissionOf, testRecipients } from '#test/support/submission.ts'
import { until } from '#test/support/until.ts'
import { createNoticeRound } from '#worker/notices.ts'

const RECIPIENTS = 20
const ADDRESSES = { one: '127.0.0.2', two: '127.0.0.3' } as const
type NodeName = keyof typeof ADDRESSES

describe('nodes with different sources', () => {
  let dns: TestDns
  let mx: Receiver
  let ctx: TestContext
  let env: Record<string, string>
  const nodes = new Map<NodeName, Awaited<ReturnType<typeof main>>>()
  const senders = new Map<NodeName, Sender>()

  before(async () => {
    mx = await startReceiver({}, { host: '127.0.1.2' })
    dns = await startDns({
      'receiver.example': { MX: [[10, 'mx.receiver.example']] },
      'mx.receiver.example': { A: ['127.0.1.2'] },
    })
    env = {
      DNS_SERVERS: dns.server,
      SMTP_OUT_PORT: String(mx.port),
      ALLOW_PRIVATE_TARGETS: '127.0.0.0/8',
      LOG_LEVEL: 'silent',
      MASTER_KEY: '07'.repeat(32),
      RETRY_SCALE: '0.02',
      RECONCILE_SECONDS: '1',
    }
    ctx = await createContext(env)
    for (const name of ['one', 'two'] as const) {
      await addPool(ctx, `pool-${name}`)
      await addSource(ctx, {
        name: `source-${name}`,
        address: ADDRESSES[name],
        ehloName: `${name}.out.example`,
        region: 'us-east-1',
        pool: null,
        weight: 1,
        isWarmingUp: false,
      })
      assert.strictEqual(await addToPool(ctx.db, `pool-${name}`, { source: `source-${name}`, weight: 1 }), null)
      const sender = await createSender({ ...ctx, keyPrefix: 'ms' }, { domain: `from-${name}.example` })
      assert.strictEqual(await setEgressPool(ctx.db, { table: 'domains', id: sender.domainId }, `pool-${name}`), null)
      senders.set(name, sender)
    }
    await start('one')
    await start('two')
    await agree()
  })
  after(async () => {
    await Promise.all([...nodes.values()].map((node) => node.stop()))
    await ctx.close()
    await mx.stop()
    await dns.stop()
  })

  async function start(name: NodeName): Promise<void> {
    const config = loadConfig({
      ...env,
      DATABASE_URL: ctx.databaseUrl,
      REDIS_URL: ctx.redisUrl,
      DATA_DIR: ctx.config.dataDir,
      NODE_NAME: name,
    })
    const isOnHost = (address: string): Promise<boolean> => Promise.resolve(address === ADDRESSES[name])
    nodes.set(name, await main(config, ['outbound'], { isOnHost }))
  }

  /** Each running node has reported its sources, and read those of the others after that. */
  async function agree(): Promise<void> {
    const since = (await ctx.db.query<{ now: Date }>('SELECT clock_timestamp() AS now')).rows[0]?.now
    for (let round = 0; round < 2; round += 1)
      await until(async () => {
        const { rows } = await ctx.db.query<{ n: number }>(
          sql`
            SELECT count(*)::int AS n
            FROM node_processes
            WHERE cardinality(sources) > 0 AND seen_at > $1::timestamptz + $2 * interval '2.5 seconds'
          `,
          [since, round],
        )
        return rows[0]?.n === nodes.size
      })
  }

  async function accept(name: NodeName): Promise<string> {
    const sender = senders.get(name) ?? assert.fail()
    const submission = submissionOf(sender.workspaceId, {
      domainId: sender.domainId,
      from: { email: `shop@${sender.domain}`, name: null },
      recipients: testRecipients(RECIPIENTS),
      tier: 'instant',
    })
    await createAcceptor(ctx).accept(submission)
    return submission.id
  }
  const recipientsOf = async (
    name: NodeName,
    id: string,
  ): Promise<{ state: string; reason: string | null; attempts: readonly unknown[] }[]> => [
    ...((await readMessage(ctx.db, senders.get(name)?.workspaceId ?? '', id))?.recipients ?? []),
  ]
  const isDelivered = async (name: NodeName, id: string): Promise<boolean> =>
    (await recipientsOf(name, id)).every(({ state }) => state === 'delivered')
  const peersSince = (count: number): string[] => [...new Set(mx.messages.slice(count).map(({ peer }) => peer))]

  it('each mail leaves from the node that has its source, at the first attempt', async () => {
    for (const name of ['one', 'two'] as const) {
      const before = mx.messages.length
      const ids = [await accept(name), await accept(name)]
      await until(async () => (await Promise.all(ids.map((id) => isDelivered(name, id)))).every(Boolean))
      assert.deepEqual(peersSince(before), [ADDRESSES[name]])
      for (const id of ids)
        for (const { attempts } of await recipientsOf(name, id))
          assert.strictEqual(attempts.length, 1, 'no other claim')
    }
  })

  it('without a running node that has its source, mail waits with that reason, and a notice says so', async () => {
    await nodes.get('two')?.stop()
    nodes.delete('two')
    const id = await accept('two')
    await until(
      async () => (await recipientsOf('two', id)).every(({ reason }) => reason !== null),
      () => 'it was not claimed by the node that remains',
      60_000,
    )
    const [first] = await recipientsOf('two', id)
    assert.match(
      first?.reason ?? '',
      /no running node has a source for this mail \(source-two is not on this machine\)/,
    )
    const explanation = JSON.stringify(
      await explainMessage(
        { ...ctx, ...ctx.config, plans: loadPlans(null) },
        senders.get('two')?.workspaceId ?? '',
        id,
        new Date(ctx.clock.now()),
      ),
    )
    assert.include(explanation, 'no running node has a source for this mail')
    await createNoticeRound(ctx)()
    const { rows } = await ctx.db.query<{ subject: string }>(
      `SELECT subject FROM operator_notices WHERE kind = 'no-node-source'`,
    )
    assert.deepEqual(rows, [{ subject: 'pool-two' }])

    const before = mx.messages.length
    await start('two')
    await until(
      () => isDelivered('two', id),
      () => 'the node that has its source did not send it',
      60_000,
    )
    assert.deepEqual(peersSince(before), [ADDRESSES.two])
  })

  it('mail is not lost when its pool changes while it waits', async () => {
    await agree()
    await nodes.get('two')?.stop()
    nodes.delete('two')
    const id = await accept('two')
    await until(async () => (await recipientsOf('two', id)).every(({ reason }) => reason !== null))
    const before = mx.messages.length
    await setEgressPool(ctx.db, { table: 'domains', id: senders.get('two')?.domainId ?? '' }, 'pool-one')
    await until(
      () => isDelivered('two', id),
      () => 'it is lost after its domain moved to another pool',
      60_000,
    )
    assert.deepEqual(peersSince(before), [ADDRESSES.one])
  })
})
