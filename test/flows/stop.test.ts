/**
 * The outbound role is stopped while receivers delay their replies: after the grace period every message is in a
 * defined state.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { startOutbound, type Outbound } from '#mta/outbound/outbound.ts'
import { createAcceptor } from '#src/messages/accept.ts'
import { readMessage, type RecipientView } from '#src/messages/read.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import type { ReceiverScript } from '#test/support/receiver-script.ts'
import { startReceiver, type Receiver } from '#test/support/receiver.ts'
import { testRecipients, submissionOf } from '#test/support/submission.ts'
import { until } from '#test/support/until.ts'

const RECIPIENTS = 30
const GRACE_MS = 100

interface Row {
  readonly stage: string
  readonly script: ReceiverScript
  /** States of those that were in a session. */
  readonly becomes: 'queued' | 'unknown'
  readonly taken: number
}

const ROWS: readonly Row[] = [
  { stage: 'no greeting comes', script: { on: { greeting: { end: 'silence' } } }, becomes: 'queued', taken: 0 },
  { stage: 'no answer to MAIL comes', script: { on: { mail: { end: 'silence' } } }, becomes: 'queued', taken: 0 },
  {
    stage: 'no answer to the final dot comes',
    script: { on: { dot: { accepts: true, end: 'silence' } } },
    becomes: 'unknown',
    taken: 10,
  },
]

describe('stop with receivers that do not reply', () => {
  let ctx: TestContext
  let mx: Receiver
  let outbound: Outbound

  beforeEach(async () => {
    mx = await startReceiver()
    ctx = await createContext({ DNS_SERVERS: '127.0.0.1:1', ROUTES: `*=smtp://127.0.0.1:${mx.port}` })
    outbound = await startOutbound(ctx, ctx.redisUrl)
  })
  afterEach(async () => {
    await ctx.close()
    await mx.stop()
  })

  for (const { stage, script, becomes, taken } of ROWS) {
    const end =
      becomes === 'queued'
        ? 'all recipients are released'
        : 'a message that may have arrived is unknown, the rest is released'
    it(`${stage}: ${end}`, async () => {
      mx.script = script
      const workspaceId = await ctx.newWorkspace()
      const submission = submissionOf(workspaceId, { recipients: testRecipients(RECIPIENTS), tier: 'instant' })
      await createAcceptor(ctx).accept(submission)
      await until(() => (taken === 0 ? mx.open > 0 : mx.messages.length >= taken))
      await outbound.stop(GRACE_MS)

      const recipients = (await readMessage(ctx.db, workspaceId, submission.id))?.recipients ?? []
      const has = (state: RecipientView['state']): number => recipients.filter((one) => one.state === state).length
      assert.strictEqual(has(becomes) + has('queued'), becomes === 'queued' ? 2 * RECIPIENTS : RECIPIENTS)
      if (becomes === 'unknown') assert.strictEqual(has('unknown'), mx.messages.length)
      assert.ok(
        recipients.every(({ tries, state }) => tries === (state === 'unknown' ? 1 : 0)),
        'only what may have arrived is counted',
      )
      assert.deepEqual((await ctx.db.query('SELECT id FROM leases')).rows, [])
      await until(() => mx.open === 0)
    })
  }

  it('messages that wait for a rate limit are released at once, however long the grace period', async () => {
    const workspaceId = await ctx.newWorkspace()
    const submission = submissionOf(workspaceId, { recipients: testRecipients(RECIPIENTS), tier: 'instant' })
    const dir = mkdtempSync('/tmp/mailstead-stop-')
    const file = join(dir, 'shaping.yaml')
    writeFileSync(
      file,
      `receivers:
  transport-map: {connections: 5, messages_per_connection: 100, message_rate: 1/h}
  default: {connections: 5, messages_per_connection: 100}
`,
    )
    await outbound.stop(0)
    outbound = await startOutbound({ ...ctx, config: { ...ctx.config, shapingFile: file } }, ctx.redisUrl)
    await createAcceptor(ctx).accept(submission)
    await mx.until(1)
    // longer than the limit of a test: a wait for the grace period would fail it
    await outbound.stop(600_000)
    const recipients = (await readMessage(ctx.db, workspaceId, submission.id))?.recipients ?? []
    assert.strictEqual(recipients.filter(({ state }) => state === 'queued').length, RECIPIENTS - 1)
    rmSync(dir, { recursive: true })
  })

  it('a failed start leaves nothing behind', async () => {
    await outbound.stop(0)
    const count = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
    const before = count()
    const config = { ...ctx.config, shapingFile: '/nowhere/shaping.yaml' }
    await assert.isRejected(startOutbound({ ...ctx, config }, ctx.redisUrl))
    await until(
      () => count() <= before,
      () => `${count()} timers, ${before} before`,
    )
    assert.deepEqual((await ctx.db.query('SELECT id FROM leases')).rows, [])
  })
})
