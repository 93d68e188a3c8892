import { assert } from 'chai'
import { createAcceptor } from '#src/messages/accept.ts'
import { claimRecipients } from '#src/messages/claim.ts'
import { dueKey, EPOCH_KEY } from '#src/queue/keys.ts'
import { acquireLease } from '#src/queue/lease.ts'
import { readQueueDepth } from '#src/queue/queue-depth.ts'
import { resume, suspend } from '#src/queue/suspensions.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { testRecipients, submissionOf } from '#test/support/submission.ts'
import { createReconcileRound } from './reconcile.ts'
import { createResumeRound } from './resume-suspended.ts'

describe('reconcile', () => {
  let ctx: TestContext
  let workspace: string
  before(async () => {
    ctx = await createContext({ RECONCILE_SECONDS: '15' })
    workspace = await ctx.newWorkspace()
  })
  after(() => ctx.close())
  beforeEach(async () => {
    await ctx.db.query('DELETE FROM recipients')
    await ctx.redis.flushall()
  })

  const scheduled = async (): Promise<number[]> =>
    Promise.all((['instant', 'high', 'normal', 'bulk'] as const).map((tier) => ctx.redis.zcard(dueKey(tier))))
  const accept = (tier: 'instant' | 'bulk', recipients: number): Promise<unknown> =>
    createAcceptor(ctx).accept(submissionOf(workspace, { tier, recipients: testRecipients(recipients) }))

  it('fills the schedule after FLUSHALL, once', async () => {
    await accept('instant', 2)
    await accept('bulk', 3)
    await ctx.redis.flushall()
    const round = createReconcileRound(ctx)
    await round()
    assert.deepEqual(await scheduled(), [2, 0, 0, 3])
    await ctx.redis.del(dueKey('bulk'))
    await round()
    assert.deepEqual(await scheduled(), [2, 0, 0, 0], 'a filled schedule is not filled again at every look')
  })
  it('fills it again on request, and for another server', async () => {
    await accept('instant', 1)
    const round = createReconcileRound(ctx)
    for (const value of [null, 'the run id of another server']) {
      await ctx.redis.flushall()
      if (value !== null) await ctx.redis.set(EPOCH_KEY, value)
      await round()
      assert.deepEqual(await scheduled(), [1, 0, 0, 0])
    }
  })
  it('schedules missing recipients when they are overdue, but not those being sent', async () => {
    const round = createReconcileRound(ctx)
    await round()
    const kept = submissionOf(workspace, { tier: 'instant', recipients: testRecipients(2) })
    await createAcceptor(ctx).accept(kept)
    const lease = await acquireLease(ctx)
    await claimRecipients(ctx.db, lease.id, [{ messageId: kept.id, n: 0 }], new Date(ctx.clock.now()))
    await ctx.redis.del(dueKey('instant'))
    await round()
    assert.deepEqual(await scheduled(), [0, 0, 0, 0], 'not overdue yet')
    ctx.advance(16_000)
    await round()
    assert.deepEqual(await scheduled(), [1, 0, 0, 0])
    await lease.end()
  })
  it('counts overdue mail of suspended workspaces, and no longer after a resume', async () => {
    const round = createReconcileRound(ctx)
    await round()
    const other = await ctx.newWorkspace()
    await createAcceptor(ctx).accept(submissionOf(other, { tier: 'bulk', recipients: testRecipients(3) }))
    await accept('bulk', 2)
    await ctx.redis.del(dueKey('bulk')) // as after a claim
    const suspended = async (): Promise<Record<string, number>> =>
      Object.fromEntries((await readQueueDepth(ctx.redis)).map((one) => [one.tier, one.suspended]))
    const subject = { kind: 'workspace', subject: other } as const
    await suspend(ctx, subject, 'asked')
    ctx.advance(16_000)
    await round()
    assert.deepEqual(await suspended(), { instant: 0, high: 0, normal: 0, bulk: 3 })
    assert.deepEqual(await scheduled(), [0, 0, 0, 2])

    await resume(ctx, subject)
    await createResumeRound(ctx)()
    assert.deepEqual(await suspended(), { instant: 0, high: 0, normal: 0, bulk: 0 })
    assert.deepEqual(await scheduled(), [0, 0, 0, 5])
    ctx.advance(16_000)
    await round()
    assert.deepEqual(await suspended(), { instant: 0, high: 0, normal: 0, bulk: 0 })
  })
})
