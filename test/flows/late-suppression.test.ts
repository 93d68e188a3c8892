/** An address may come on the suppression list while mail to it, claimed long ago, waits for its turn at a busy receiver. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startOutbound, type Outbound } from '#mta/outbound.ts'
import { createAcceptor } from '#src/messages/accept.ts'
import { readMessage } from '#src/messages/read.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { startReceiver, type Receiver } from '#test/support/receiver.ts'
import { submissionOf } from '#test/support/submission.ts'
import { until } from '#test/support/until.ts'

const FILE = `receivers:
  transport-map: {connections: 1, messages_per_connection: 100}
  default: {connections: 1, messages_per_connection: 100}
`

describe('an address that is suppressed while mail to it waits for its turn', function () {
  this.timeout(30_000)
  const dir = mkdtempSync('/tmp/mailstead-late-')
  let ctx: TestContext
  let mx: Receiver
  let outbound: Outbound

  before(async () => {
    writeFileSync(join(dir, 'shaping.yaml'), FILE)
    mx = await startReceiver()
    ctx = await createContext({ DNS_SERVERS: '127.0.0.1:1', ROUTES: `*=smtp://127.0.0.1:${mx.port}`, SHAPING_FILE: join(dir, 'shaping.yaml') })
    outbound = await startOutbound(ctx, ctx.redisUrl)
  })
  after(async () => {
    await outbound.stop(0)
    await ctx.close()
    await mx.stop()
    rmSync(dir, { recursive: true, force: true })
  })

  it('gets nothing; mail beside it goes out', async () => {
    mx.script = { on: { dot: ({ to }) => to[0]?.startsWith('first') === true ? { delayMs: 4500 } : undefined } }
    const workspaceId = await ctx.newWorkspace()
    const send = async (name: string): Promise<string> => {
      const addressee = { kind: 'to', address: `${name}@b.example`, domain: 'b.example' } as const
      const submission = submissionOf(workspaceId, { recipients: [addressee], tier: 'instant' })
      await createAcceptor(ctx).accept(submission)
      return submission.id
    }
    const stateOf = async (id: string): Promise<string | undefined> => (await readMessage(ctx.db, workspaceId, id))?.recipients[0]?.state
    await send('first')
    await until(() => mx.open > 0)
    const [late, beside] = [await send('late'), await send('beside')]
    for (const id of [late, beside]) await until(async () => await stateOf(id) === 'sending', () => 'it is not claimed')
    await ctx.db.query(`INSERT INTO suppressions (workspace_id, address, kind, cause) VALUES ($1, 'late@b.example', 'manual', 'asked for it')`, [workspaceId])
    await until(async () => await stateOf(beside) === 'delivered', () => 'it did not go out')
    await until(async () => await stateOf(late) === 'suppressed', () => 'it is not suppressed')
    assert.deepEqual(mx.messages.map(({ to }) => to[0]), ['first@b.example', 'beside@b.example'])
  })
})
