/** Two nodes send the mail of one queue. One of them is drained, used again, and lost. */
import { assert } from 'chai'
import { loadConfig } from '#config/load.ts'
import { main } from '#mta/main.ts'
import { createAcceptor } from '#src/messages/accept.ts'
import { readMessage } from '#src/messages/read.ts'
import { claimRecipients } from '#src/messages/claim.ts'
import { listNodes, setDraining, forgetNode, type NodeState } from '#src/operator/nodes.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { startReceiver, type Receiver } from '#test/support/receiver.ts'
import { submissionOf, testRecipients } from '#test/support/submission.ts'
import { until } from '#test/support/until.ts'
import { createDeadLeaseRound } from '#worker/dead-leases.ts'

const RECIPIENTS = 60

describe('nodes that share a queue', () => {
  let ctx: TestContext
  let mx: Receiver
  let nodes: Record<'one' | 'two', Awaited<ReturnType<typeof main>>>
  let workspaceId: string
  before(async () => {
    mx = await startReceiver()
    ctx = await createContext({ DNS_SERVERS: '127.0.0.1:1', ROUTES: `*=smtp://127.0.0.1:${mx.port}` })
    workspaceId = await ctx.newWorkspace()
    const start = (name: string): ReturnType<typeof main> =>
      main(
        loadConfig({
          DATABASE_URL: ctx.databaseUrl,
          REDIS_URL: ctx.redisUrl,
          DATA_DIR: ctx.config.dataDir,
          DNS_SERVERS: '127.0.0.1:1',
          ROUTES: `*=smtp://127.0.0.1:${mx.port}`,
          LOG_LEVEL: 'silent',
          MASTER_KEY: '5a'.repeat(32),
          NODE_NAME: name,
        }),
        ['outbound'],
      )
    nodes = { one: await start('one'), two: await start('two') }
  })
  after(async () => {
    await Promise.all(Object.values(nodes).map((node) => node.stop()))
    await ctx.close()
    await mx.stop()
  })

  const stateOf = async (name: string): Promise<NodeState | undefined> => (await listNodes(ctx.db, name))[0]?.state
  const leasing = async (): Promise<string[]> =>
    (await ctx.db.query<{ node: string }>('SELECT node FROM leases ORDER BY node')).rows.map(({ node }) => node)

  async function accept(): Promise<string> {
    const submission = submissionOf(workspaceId, { recipients: testRecipients(RECIPIENTS), tier: 'instant' })
    await createAcceptor(ctx).accept(submission)
    return submission.id
  }
  const statesOf = async (id: string): Promise<(string | undefined)[]> =>
    (await readMessage(ctx.db, workspaceId, id))?.recipients.map(({ state }) => state) ?? []
  const isDelivered = async (id: string): Promise<boolean> =>
    (await statesOf(id)).every((state) => state === 'delivered')

  it('a drained node keeps no mail and no lease; the other one sends all, each once', async () => {
    const before = mx.messages.length
    const early = await accept()
    await setDraining(ctx.db, 'one', true)
    await until(async () => (await stateOf('one')) === 'drained')
    assert.deepEqual(await leasing(), ['two'])
    assert.strictEqual((await listNodes(ctx.db, 'one'))[0]?.leased, 0)
    const late = await accept()
    await until(async () => (await isDelivered(early)) && (await isDelivered(late)))
    assert.strictEqual(mx.messages.length - before, 2 * RECIPIENTS)
  })

  it('is used again, and sends while the other one is drained', async () => {
    await setDraining(ctx.db, 'one', false)
    await until(async () => (await leasing()).includes('one'))
    await setDraining(ctx.db, 'two', true)
    await until(async () => (await stateOf('two')) === 'drained')
    assert.deepEqual(await leasing(), ['one'])
    const id = await accept()
    await until(() => isDelivered(id))
  })

  it('a node that stops while it is drained ends in time, and is listed without processes', async () => {
    await nodes.two.stop()
    const [two] = await listNodes(ctx.db, 'two')
    assert.deepEqual([two?.state, two?.processes], ['drained', []])
    nodes = { ...nodes, two: { ...nodes.two, stop: () => Promise.resolve() } }
  })

  it('mail of a node that is lost is sent by the others as soon as it is forgotten', async () => {
    await setDraining(ctx.db, 'one', true)
    await until(async () => (await stateOf('one')) === 'drained')
    const id = await accept()
    // the lost node had claimed the mail, and its lease has nearly a minute left
    const { rows } = await ctx.db.query<{ id: number }>(
      sql`
        INSERT INTO leases (version, machine, pid, expires_at, node, journal)
        VALUES ('0.2.0', 'far', 1, now() + interval '55 seconds', 'lost', 'far.journal')
        RETURNING id
      `,
    )
    await ctx.db.query(`INSERT INTO nodes (name) VALUES ('lost')`)
    const members = Array.from({ length: RECIPIENTS }, (_, n) => ({ messageId: id, n }))
    await claimRecipients(ctx.db, rows[0]?.id ?? 0, members, new Date())
    await setDraining(ctx.db, 'one', false)
    assert.strictEqual((await listNodes(ctx.db, 'lost'))[0]?.leased, RECIPIENTS)

    assert.strictEqual(await forgetNode(ctx.db, 'lost'), 'forgotten')
    await createDeadLeaseRound(ctx)()
    await until(() => isDelivered(id))
    assert.deepEqual(await leasing(), ['one'])
  })
})
