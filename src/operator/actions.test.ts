/** Actions on many recipients: any worker continues them, one worker at a time, and each recipient changes once. */
import { assert } from 'chai'
import type { Tier } from '#src/queue/tiers.ts'
import { createAcceptor } from '#src/messages/accept.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { testRecipients, submissionOf } from '#test/support/submission.ts'
import { continueAction, beginAction, listUnfinishedActions } from './actions.ts'
import { findAction, type OperatorAction } from './action-log.ts'

describe('operator actions', () => {
  let ctx: TestContext
  let workspaceId: string
  before(async () => {
    ctx = await createContext()
    workspaceId = await ctx.newWorkspace()
  })
  after(() => ctx.close())
  beforeEach(async () => {
    await ctx.db.query('DELETE FROM recipients')
    await ctx.db.query('DELETE FROM operator_actions')
  })

  async function fill(count: number, tier: Tier = 'bulk'): Promise<void> {
    const acceptor = createAcceptor(ctx)
    await Promise.all(
      Array.from({ length: Math.ceil(count / 50) }, () =>
        acceptor.accept(submissionOf(workspaceId, { tier, recipients: testRecipients(50) })),
      ),
    )
    await ctx.db.query(`UPDATE recipients SET updated_at = updated_at - interval '1 minute'`)
  }
  const begin = (verb: 'retry' | 'drop' | 'bounce'): Promise<OperatorAction> =>
    beginAction(ctx, { verb, filter: { workspace: workspaceId }, reason: 'a test', by: 'me' })
  const told = async (id: string): Promise<readonly unknown[]> => {
    const found = await findAction(ctx.db, id)
    return [found?.state, found?.moved, found?.seen]
  }

  it('without time for all of it, the next call continues', async () => {
    await fill(2500)
    const { id } = await begin('drop')
    const slices: number[] = []
    for (let hands = 0; hands < 20 && (await listUnfinishedActions(ctx)).length > 0; hands++)
      await continueAction(ctx, id, 0, (seen) => slices.push(seen))
    assert.deepEqual(await told(id), ['done', 2500, 2500])
    assert.deepEqual(
      slices.filter((seen) => seen > 0),
      [1000, 1000, 500],
    )
  })
  it('ends, however many other recipients are due at the same time', async () => {
    await fill(2500)
    await ctx.db.query(`UPDATE recipients SET due_at = timestamptz '2020-01-01 00:00:00.0005'`)
    const { id } = await beginAction(ctx, { verb: 'drop', filter: { domain: 'nobody.example' }, reason: '', by: '' })
    await continueAction(ctx, id, 60_000)
    assert.deepEqual(await told(id), ['done', 0, 2500])
  })
  it('two processes: one holds the action, and each recipient changes once', async () => {
    await fill(2000)
    const { id } = await begin('bounce')
    await Promise.all([
      continueAction(ctx, id, 60_000),
      continueAction(ctx, id, 60_000),
      continueAction(ctx, id, 60_000),
    ])
    assert.deepEqual(await told(id), ['done', 2000, 2000])
    const {
      rows: [events],
    } = await ctx.db.query<{ count: number }>(`SELECT count(*) AS count FROM events WHERE type = 'email.failed'`)
    assert.strictEqual(events?.count, 2000)
  })
  it('two concurrent actions share the mail', async () => {
    await fill(2000)
    const [drop, bounce] = [await begin('drop'), await begin('bounce')]
    await Promise.all([continueAction(ctx, drop.id, 60_000), continueAction(ctx, bounce.id, 60_000)])
    const moved = await Promise.all([drop, bounce].map(async ({ id }) => (await findAction(ctx.db, id))?.moved ?? 0))
    assert.strictEqual(
      moved.reduce((sum, one) => sum + one, 0),
      2000,
    )
  })
  it('another process continues after a crash, when the lease has expired', async () => {
    await fill(1500)
    const { id } = await begin('retry')
    await continueAction(ctx, id, 0)
    // as if it had died with its lease, between a slice and its note
    await ctx.db.query(
      `UPDATE operator_actions SET leased_until = now() + interval '30 seconds', place = NULL WHERE id = $1`,
      [id],
    )
    assert.deepEqual(await listUnfinishedActions(ctx), [])
    await continueAction(ctx, id, 60_000)
    assert.strictEqual((await told(id))[0], 'running', 'it is in other hands')
    await ctx.db.query(`UPDATE operator_actions SET leased_until = now() - interval '1 second' WHERE id = $1`, [id])
    assert.deepEqual(await listUnfinishedActions(ctx), [id])
    await continueAction(ctx, id, 60_000)
    const [state, moved] = await told(id)
    assert.deepEqual([state, moved], ['done', 1500])
  })
  it('retry schedules mail of all tiers', async () => {
    for (const tier of ['instant', 'bulk'] as const) await fill(50, tier)
    await ctx.redis.flushall()
    await ctx.db.query(`UPDATE recipients SET state = 'deferred', due_at = now() + interval '1 hour'`)
    await continueAction(ctx, (await begin('retry')).id, 60_000)
    assert.deepEqual(
      await Promise.all(['instant', 'bulk'].map((tier) => ctx.redis.zcard(`mailstead:{due}:${tier}`))),
      [50, 50],
    )
  })
})
