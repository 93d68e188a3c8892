/**
 * PostgreSQL becomes older than the mail sent, in each way that this happens, while Redis stays: nothing is sent twice,
 * and nothing at all until the operator allows it.
 */
import { assert } from 'chai'
import { startOutbound, type Outbound } from '#mta/outbound/outbound.ts'
import { createAcceptor } from '#src/messages/accept.ts'
import { listNotices } from '#src/operator/notices.ts'
import { readyKey, suspendedSite } from '#src/queue/keys.ts'
import { acquireLease } from '#src/queue/lease.ts'
import { listSuspensions, resume } from '#src/queue/suspensions.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import {
  administer,
  copyDatabase,
  createSwitchedUrl,
  startStandby,
  type DatabaseCopy,
} from '#test/support/older-database.ts'
import { startReceiver, type Receiver } from '#test/support/receiver.ts'
import { startPostgres } from '#test/support/stores.ts'
import { submissionOf } from '#test/support/submission.ts'
import { until } from '#test/support/until.ts'
import { startLoop } from '#worker/loop.ts'
import { createNoticeRound } from '#worker/notices.ts'
import { createReconcileRound } from '#worker/reconcile.ts'
import { createRestoreFenceRound } from '#worker/restore-fence.ts'
import { createResumeRound } from '#worker/resume-suspended.ts'

const HOUR_MS = 3_600_000
const MAILS = 5

describe('a database older than the mail sent', () => {
  let ctx: TestContext
  let mx: Receiver
  let isOpen = false
  let outbound: Outbound | null = null

  beforeEach(async () => {
    mx = await startReceiver()
  })
  afterEach(async () => {
    await outbound?.stop()
    outbound = null
    if (isOpen) await ctx.close()
    isOpen = false
    await mx.stop()
  })

  const open = async (databaseUrl?: string): Promise<void> => {
    ctx = await createContext({ ROUTES: `*=smtp://127.0.0.1:${mx.port}` }, databaseUrl)
    isOpen = true
  }
  const start = async (): Promise<void> => {
    outbound = await startOutbound(ctx, ctx.redisUrl)
  }
  const suspensions = async (): Promise<string> =>
    (await listSuspensions(ctx.db)).map(({ subject, reason }) => `${subject}: ${reason}`).join()
  const accept = async (count: number, inMs = 0): Promise<void> => {
    const workspaceId = await ctx.newWorkspace()
    const scheduledAt = inMs === 0 ? null : new Date(ctx.clock.now() + inMs)
    for (let i = 0; i < count; i++)
      await createAcceptor(ctx).accept(submissionOf(workspaceId, { scheduledAt, subject: `Mail ${i}` }))
  }
  /** Repeats a statement until the connections that ended are replaced. */
  const eventually = async (check: () => Promise<boolean>): Promise<void> => until(() => check().catch(() => false))
  const counter = async (url: string): Promise<number> =>
    Number((await administer(url, 'SELECT counter FROM restore_fence'))[0]?.['counter'])
  /** Until the newer state has a heartbeat that the older one has not. */
  const beatAgain = async (url: string): Promise<void> => {
    const before = await counter(url)
    await until(async () => (await counter(url)) > before)
  }
  /** All waiting mail reached the queue for suspended mail: none of it is on its way. */
  const isSetAside = async (count: number): Promise<boolean> =>
    (await ctx.redis.zcard(readyKey(suspendedSite('receiver.example'), 'normal'))) === count

  /** Nothing was sent twice, and mail leaves after the operator's decision. */
  async function assertSuspended(waiting: number): Promise<void> {
    await eventually(async () => (await suspensions()).startsWith('*: the database is older'))
    assert.match(await suspensions(), /its changes of \d+ s are missing, from \S+Z to \S+Z/)
    const worker = startLoop(ctx.log, { name: 'reconcile', everyMs: 50, round: createReconcileRound(ctx) })
    await eventually(() => isSetAside(waiting))
    await worker.stop()
    assert.strictEqual(mx.messages.length, MAILS, 'sent while the newer database was there')
    await createNoticeRound(ctx)()
    const { items: notices } = await listNotices(ctx.db, { all: false, limit: 10 })
    assert.deepEqual(
      notices.map(({ kind }) => kind),
      ['database-older'],
    )
    await resume(ctx, '*')
    const resumer = startLoop(ctx.log, { name: 'resume suspended', everyMs: 100, round: createResumeRound(ctx) })
    await until(() => mx.messages.length === MAILS + waiting)
    await resumer.stop()
    assert.strictEqual(await suspensions(), '', 'the operator is asked once')
  }

  /** An older copy, and then mail that it lists as waiting and that is sent. */
  async function sendAfterCopy(): Promise<DatabaseCopy> {
    await accept(MAILS, HOUR_MS)
    await start()
    const copy = await copyDatabase(ctx.databaseUrl)
    await eventually(async () => {
      await beatAgain(ctx.databaseUrl)
      return true
    })
    ctx.advance(HOUR_MS + 60_000)
    await mx.until(MAILS)
    return copy
  }

  it('replaced while outbound processes run', async () => {
    await open()
    const copy = await sendAfterCopy()
    await copy.replace()
    await assertSuspended(MAILS)
  })

  it('recovered to a point in time, with other rows and a sequence that is ahead, and then restarted', async () => {
    await open()
    const copy = await sendAfterCopy()
    await outbound?.stop()
    outbound = null
    await administer(copy.url, `SELECT setval('leases_id_seq', 1000)`)
    await copy.replace()
    await eventually(async () => (await accept(1)) === undefined)
    await start()
    await assertSuspended(MAILS + 1)
  })

  it('an asynchronous standby that is promoted without the last transactions', async () => {
    const primary = await startPostgres()
    const standby = await startStandby(primary)
    const switched = createSwitchedUrl(primary)
    try {
      await open(switched.url)
      await accept(MAILS, HOUR_MS)
      await start()
      await standby.catchUp()
      await standby.detach()
      await beatAgain(primary.url)
      ctx.advance(HOUR_MS + 60_000)
      await mx.until(MAILS)
      await primary.crash()
      await standby.promote()
      switched.switchTo(standby)
      await assertSuspended(MAILS)
      const [lease] = await administer(standby.url, 'SELECT max(id) AS id FROM leases')
      const token = await ctx.redis.zscore('mailstead:fence', 'token')
      assert.isAtLeast(Number(lease?.['id']), Number(token), 'no token is issued twice')
    } finally {
      await outbound?.stop()
      outbound = null
      await standby.stop()
      await primary.stop()
      switched.remove()
    }
  })

  it('is found by a running process also when Redis is emptied at the same time', async () => {
    await open()
    const copy = await sendAfterCopy()
    await copy.replace()
    await ctx.redis.flushall()
    await assertSuspended(MAILS)
  })

  it('is reported by a worker too; without waiting mail nothing is suspended', async () => {
    await open()
    const round = createRestoreFenceRound(ctx)
    await round()
    await ctx.db.query('UPDATE restore_fence SET counter = 0')
    await round()
    await createNoticeRound(ctx)()
    assert.strictEqual(await suspensions(), '')
    assert.strictEqual((await listNotices(ctx.db, { all: false, limit: 10 })).items[0]?.kind, 'database-older')
    const lease = await acquireLease(ctx)
    assert.isTrue(lease.isHeld())
    await lease.end()
  })

  it('an outbound process replaces a lease that it lost, and sends', async () => {
    await open()
    await start()
    await ctx.db.query('DELETE FROM leases')
    await accept(1)
    await mx.until(1)
    assert.strictEqual(await suspensions(), '')
  })

  it('an empty Redis suspends nothing', async () => {
    await open()
    await accept(1)
    await ctx.redis.flushall()
    const lease = await acquireLease(ctx)
    assert.deepEqual([await suspensions(), lease.isHeld()], ['', true])
    await lease.end()
  })
})
