/**
 * After a restore from a backup the database does not know all messages that were sent: nothing is sent until the
 * operator allows it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { startOutbound, type Outbound } from '#mta/outbound/outbound.ts'
import { createAcceptor } from '#src/messages/accept.ts'
import { acquireLease } from '#src/queue/lease.ts'
import { listSuspensions, resume } from '#src/queue/suspensions.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { startReceiver, type Receiver } from '#test/support/receiver.ts'
import { createResumeRound } from '#worker/resume-suspended.ts'
import { startLoop } from '#worker/loop.ts'
import { submissionOf } from '#test/support/submission.ts'
import { until } from '#test/support/until.ts'

describe('a database restored from a backup', () => {
  let ctx: TestContext
  let mx: Receiver
  let outbound: Outbound | null = null

  before(async () => {
    mx = await startReceiver()
    ctx = await createContext({ ROUTES: `*=smtp://127.0.0.1:${mx.port}` })
  })
  after(async () => {
    await ctx.close()
    await mx.stop()
  })
  afterEach(async () => {
    await outbound?.stop()
    outbound = null
  })

  /** As after a restore: the tokens that were given out since are unknown. */
  async function restore(): Promise<void> {
    for (let i = 0; i < 3; i++) await (await acquireLease(ctx)).end()
    await ctx.db.query('ALTER SEQUENCE leases_id_seq RESTART')
  }
  const stopped = async (): Promise<string[]> =>
    (await listSuspensions(ctx.db)).map(({ subject, reason }) => `${subject}: ${reason}`)
  const accept = async (): Promise<void> => {
    assert.strictEqual((await createAcceptor(ctx).accept(submissionOf(await ctx.newWorkspace()))).kind, 'stored')
  }

  it('without waiting mail nothing is suspended', async () => {
    await restore()
    const lease = await acquireLease(ctx)
    assert.deepEqual([await stopped(), lease.isHeld()], [[], true])
    await lease.end()
  })

  it('suspends all mail until the operator resumes it, once', async () => {
    await restore()
    await accept()
    outbound = await startOutbound(ctx, ctx.redisUrl)
    await sleep(300)
    assert.strictEqual(mx.messages.length, 0)
    assert.match((await stopped()).join(), /^\*: the database is older than the mail sent/)
    await outbound.stop()
    outbound = await startOutbound(ctx, ctx.redisUrl)
    assert.strictEqual(await resume(ctx, '*'), true)
    await accept()
    // what it kept aside before it heard is put back by the worker
    const worker = startLoop(ctx.log, { name: 'resume suspended', everyMs: 500, round: createResumeRound(ctx) })
    await until(() => mx.messages.length >= 2)
    await worker.stop()
    assert.deepEqual(await stopped(), [])
  })

  it('an outbound process that keeps running notices by its missing lease', async () => {
    outbound = await startOutbound(ctx, ctx.redisUrl)
    await ctx.db.query('DELETE FROM leases')
    await ctx.redis.zadd('mailstead:fence', 1_000_000, 'token')
    await accept()
    const lease = await acquireLease(ctx)
    assert.match((await stopped()).join(), /older than the mail sent/)
    await lease.end()
    await resume(ctx, '*')
  })

  it('an empty Redis suspends nothing', async () => {
    await ctx.redis.flushall()
    await accept()
    const lease = await acquireLease(ctx)
    assert.deepEqual([await stopped(), lease.isHeld()], [[], true])
    await lease.end()
  })
})
