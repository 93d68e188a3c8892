/** What a cancellation takes back from the quota: each recipient that it cancels before its first attempt, once. */
import { assert } from 'chai'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { testRecipients, submissionOf } from '#test/support/submission.ts'
import { createAcceptor } from './accept.ts'
import { claimRecipients } from './claim.ts'
import { cancelScheduled } from './scheduled-messages.ts'
import { applyTransitions, type Transition } from './transition.ts'
import type { MoveName } from './state.ts'

describe('the quota of cancelled mail', () => {
  let ctx: TestContext
  let workspaceId: string
  before(async () => {
    ctx = await createContext()
    await ctx.db.query(
      `INSERT INTO leases (version, machine, pid, expires_at) VALUES ('0.2.0', 'here', 1, now() + interval '1 hour')`,
    )
  })
  after(() => ctx.close())
  beforeEach(async () => {
    workspaceId = await ctx.newWorkspace()
  })

  const now = (): Date => new Date(ctx.clock.now())
  async function schedule(recipients: number, aheadMs = 3_600_000): Promise<string> {
    const scheduledAt = new Date(ctx.clock.now() + aheadMs)
    const submission = submissionOf(workspaceId, { scheduledAt, recipients: testRecipients(recipients) })
    await createAcceptor(ctx).accept(submission)
    return submission.id
  }
  async function used(): Promise<number | undefined> {
    const { rows } = await ctx.db.query<{ used: number }>('SELECT used FROM usage WHERE workspace_id = $1', [
      workspaceId,
    ])
    return rows[0]?.used
  }
  const cancel = (id: string): ReturnType<typeof cancelScheduled> => cancelScheduled(ctx, workspaceId, id)
  const move = (messageId: string, name: MoveName, lease: number | null = null): Transition => ({
    messageId,
    n: 0,
    move: name,
    lease,
    reason: 'because',
    dueAt: null,
    isCounted: false,
    attempt: null,
    eventData: null,
  })

  it('is refunded once, however often and however many cancel at the same time', async () => {
    const [id] = [await schedule(3), await schedule(2)]
    assert.strictEqual(await used(), 5)
    await Promise.all(Array.from({ length: 8 }, () => cancel(id)))
    await cancel(id)
    assert.strictEqual(await used(), 2)
  })

  it('is refunded for the recipients that were cancelled, and not for those that were sent', async () => {
    const ids = await Promise.all(Array.from({ length: 30 }, () => schedule(2, -1)))
    const due = ids.flatMap((messageId) => [0, 1].map((n) => ({ messageId, n })))
    const claims = Promise.all(due.map((one) => claimRecipients(ctx.db, 1, [one], now())))
    await Promise.all(ids.map(cancel))
    const claimed = (await claims).flat().length
    const { rows } = await ctx.db.query<{ cancelled: number }>(
      `SELECT count(*) AS cancelled FROM recipients WHERE workspace_id = $1 AND state = 'cancelled'`,
      [workspaceId],
    )
    assert.strictEqual(claimed + (rows[0]?.cancelled ?? 0), due.length)
    assert.strictEqual(await used(), claimed)
  })

  it('is refunded for suppressed recipients if nothing of the message remains', async () => {
    await ctx.db.query(
      `INSERT INTO suppressions (workspace_id, address, cause) VALUES ($1, 'r1@receiver.example', 'asked')`,
      [workspaceId],
    )
    const id = await schedule(3)
    assert.strictEqual(await used(), 3)
    await Promise.all([cancel(id), cancel(id)])
    assert.strictEqual(await used(), 0)
  })

  it('is refunded in the month in which the message was accepted', async () => {
    const id = await schedule(2)
    await ctx.db.query(
      sql`
        INSERT INTO usage (workspace_id, period, used)
        SELECT workspace_id, (period + interval '1 month')::date, 7
        FROM usage
        WHERE workspace_id = $1
      `,
      [workspaceId],
    )
    await cancel(id)
    const { rows } = await ctx.db.query('SELECT used FROM usage WHERE workspace_id = $1 ORDER BY period', [workspaceId])
    assert.deepEqual(
      rows.map((row) => row['used']),
      [0, 7],
    )
  })

  it('is refunded for waiting mail that is dropped, as of a cancelled campaign, before its first attempt', async () => {
    const [untried, tried] = [await schedule(1, -1), await schedule(1, -1)]
    await claimRecipients(ctx.db, 1, [{ messageId: tried, n: 0 }], now())
    await applyTransitions(ctx.db, [move(tried, 'defer', 1)], now())
    await applyTransitions(ctx.db, [move(untried, 'drop'), move(tried, 'drop')], now())
    await applyTransitions(ctx.db, [move(untried, 'drop')], now())
    assert.strictEqual(await used(), 1)
  })
})
