/** The steps of a campaign on PostgreSQL; the test plays the receivers. */
import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { resume, suspend } from '#src/queue/suspensions.ts'
import { storeContent } from '#src/deferred-content/content-store.ts'
import { sql } from '#src/stores/sql.ts'
import { addAudience, addMembers } from '#test/support/campaign.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { createSender, type Sender } from '#test/support/sender.ts'
import { advance, createAdvanceContext, type AdvanceContext } from './advance.ts'
import { readStatistics } from './statistics.ts'
import { moveCampaign } from './transitions.ts'

const SLOW = 'slow.example'

describe('steps of a campaign', () => {
  let ctx: TestContext
  let worker: AdvanceContext
  let sender: Sender
  before(async () => {
    ctx = await createContext()
    worker = createAdvanceContext(ctx)
  })
  after(() => ctx.close())
  beforeEach(async () => {
    sender = await createSender(
      { db: ctx.db, encryption: ctx.encryption, keyPrefix: 'ms' },
      { domain: `${newId()}.example` },
    )
  })
  afterEach(() => ctx.db.query('UPDATE campaigns SET is_open = false'))

  const owner = () => ({ db: ctx.db, workspaceId: sender.workspaceId })
  const nameOf = (id: string) => ({ workspaceId: sender.workspaceId, id })
  /** A campaign that has just begun, to so many members at each domain, in this order. */
  async function begin(members: readonly (readonly [domain: string, count: number])[]): Promise<string> {
    const audienceId = await addAudience(owner())
    for (const [domain, count] of members) await addMembers(owner(), audienceId, { count, domain })
    const contentId = await storeContent(ctx.db, sender.workspaceId, {
      templateId: null,
      templateVersion: null,
      subject: 'S',
      html: null,
      text: 'T',
    })
    const id = newId()
    await ctx.db.query(
      sql`
        INSERT INTO campaigns (
          id, workspace_id, name, status, audience_ids, from_email, domain_id, content_id, is_open, started_at
        )
        VALUES ($1, $2, 'C', 'SENDING', $3, $4, $5, $6, true, $7)
      `,
      [
        id,
        sender.workspaceId,
        [audienceId],
        `a@${sender.domain}`,
        sender.domainId,
        contentId,
        new Date(ctx.clock.now() + 1),
      ],
    )
    return id
  }
  /** Until nothing is to be done at once. */
  async function run(id: string, by = worker): Promise<void> {
    while (await advance(by, id));
  }
  async function statusOf(
    id: string,
  ): Promise<readonly [status: string | undefined, reason: string | null | undefined]> {
    const {
      rows: [row],
    } = await ctx.db.query<{ status: string; reason: string | null }>(
      'SELECT status, reason FROM campaigns WHERE id = $1',
      [id],
    )
    return [row?.status, row?.reason]
  }
  async function inQueue(id: string): Promise<Record<string, number>> {
    const { rows } = await ctx.db.query<{ domain: string; n: number }>(
      'SELECT domain, count(*)::int AS n FROM recipients WHERE campaign_id = $1 AND is_open GROUP BY domain',
      [id],
    )
    return Object.fromEntries(rows.map(({ domain, n }) => [domain, n]))
  }
  /** Receivers take so many of what is in the queue. */
  async function deliver(id: string, domain: string, count: number): Promise<void> {
    await ctx.db.query(
      sql`
        WITH taken AS (
          UPDATE recipients r
          SET state = 'delivered', is_open = false
          WHERE message_id IN (
            SELECT message_id
            FROM recipients
            WHERE campaign_id = $1 AND domain = $2 AND is_open
            LIMIT $3
          )
          RETURNING message_id
        )
        UPDATE campaign_recipients l
        SET state = 'delivered', delivered_at = now()
        FROM taken t
        WHERE l.message_id = t.message_id
      `,
      [id, domain, count],
    )
  }
  /** A worker whose plans allow 1,500 recipients a month. */
  const small = (): AdvanceContext => ({
    ...worker,
    plans: { enterprise: { monthlyQuota: 1500, requestsPerSecond: null, maxDomains: null, isLaunch: true } },
  })
  const figures = async (id: string) => (await readStatistics(ctx.db, id)).all

  it('a stalled receiver gets a limited share of the queue, delays no other, and later gets all once', async () => {
    const id = await begin([
      [SLOW, 6000],
      ['quick.example', 600],
      ['other.example', 300],
    ])
    await run(id)
    assert.deepEqual(await inQueue(id), { [SLOW]: 4000 })
    ctx.advance(4000)
    await run(id)
    assert.deepEqual(await inQueue(id), { [SLOW]: 4000, 'quick.example': 600, 'other.example': 300 })
    assert.strictEqual((await figures(id)).waiting, 2000)
    for (const count of [3600, 500, 500]) {
      await deliver(id, SLOW, count)
      ctx.advance(1000)
      await run(id)
      assert.strictEqual((await inQueue(id))[SLOW], 1000, 'up to its limit')
    }
    await deliver(id, SLOW, 6000)
    ctx.advance(1000)
    await run(id)
    for (const domain of ['quick.example', 'other.example', SLOW]) await deliver(id, domain, 6000)
    ctx.advance(1000)
    await run(id)
    assert.deepEqual(await statusOf(id), ['COMPLETED', null])
    const { rows } = await ctx.db.query(
      'SELECT count(*)::int AS mails, count(DISTINCT address)::int AS people FROM recipients WHERE campaign_id = $1',
      [id],
    )
    assert.deepEqual(rows, [{ mails: 6900, people: 6900 }])
  })

  it('two workers at once send to each contact once', async () => {
    const id = await begin([['both.example', 3000]])
    const other = { ...worker, slowReceiverChecks: new Map() }
    const press = async (by: AdvanceContext): Promise<void> => {
      for (let i = 0; i < 50; i++) await advance(by, id)
    }
    await Promise.all([press(worker), press(other)])
    // they may have been in each other's way
    await run(id)
    const { rows } = await ctx.db.query(
      'SELECT count(*)::int AS mails, count(DISTINCT address)::int AS people FROM recipients WHERE campaign_id = $1',
      [id],
    )
    assert.deepEqual(rows, [{ mails: 3000, people: 3000 }])
  })

  it('a campaign out of quota pauses, and continues under a larger plan', async () => {
    const id = await begin([['quota.example', 2000]])
    await run(id, small())
    assert.deepEqual(await statusOf(id), ['PAUSED', 'the quota of this month is used up'])
    assert.strictEqual((await figures(id)).dispatched, 1500)
    await moveCampaign(ctx.db, nameOf(id), 'resume')
    await run(id, small())
    assert.strictEqual((await statusOf(id))[0], 'PAUSED', 'the quota is still used up')
    await moveCampaign(ctx.db, nameOf(id), 'resume', { reason: null })
    await run(id)
    assert.strictEqual((await figures(id)).dispatched, 2000)
  })

  it('a campaign out of quota can be resumed in the next month', async () => {
    const id = await begin([['month.example', 2000]])
    await run(id, small())
    await ctx.db.query(`UPDATE usage SET period = period - interval '1 month' WHERE workspace_id = $1`, [
      sender.workspaceId,
    ])
    await moveCampaign(ctx.db, nameOf(id), 'resume', { reason: null })
    await run(id, small())
    assert.deepEqual([(await statusOf(id))[0], (await figures(id)).dispatched], ['SENT', 2000])
  })

  it('a campaign suspended by the operator waits, and continues where it stopped', async () => {
    const id = await begin([['held.example', 1500]])
    await advance(worker, id)
    const before = (await figures(id)).dispatched
    await suspend(ctx, { kind: 'campaign', subject: id }, 'asked')
    await run(id)
    assert.strictEqual((await figures(id)).dispatched, before)
    await resume(ctx, { kind: 'campaign', subject: id })
    await run(id)
    assert.strictEqual((await figures(id)).dispatched, 1500)
  })

  it('cancelling closes every row that was not sent: queued, set apart and waiting', async () => {
    const id = await begin([
      [SLOW, 5000],
      ['quick.example', 300],
    ])
    await run(id)
    ctx.advance(4000)
    await run(id)
    await deliver(id, SLOW, 100)
    await moveCampaign(ctx.db, nameOf(id), 'cancel')
    await run(id)
    const { delivered, cancelled, settled, recipients } = await figures(id)
    assert.deepEqual([delivered, cancelled, settled, recipients], [100, 5200, 5300, 5300])
    assert.deepEqual(await inQueue(id), {})
    assert.strictEqual((await ctx.db.query('SELECT FROM campaigns WHERE id = $1 AND is_open', [id])).rowCount, 0)
  })

  it('contacts that opted out are not written to the ledger, or are skipped at dispatch', async () => {
    const id = await begin([['out.example', 10]])
    await ctx.db.query(
      `UPDATE contacts SET opted_out_at = now() WHERE workspace_id = $1 AND email = 'c1@out.example'`,
      [sender.workspaceId],
    )
    await ctx.db.query(`UPDATE campaigns SET spread_minutes = 600, send_mode = 'spread' WHERE id = $1`, [id])
    await run(id)
    assert.strictEqual((await figures(id)).recipients, 9)
    await ctx.db.query(
      `UPDATE contacts SET opted_out_at = now() WHERE workspace_id = $1 AND email = 'c2@out.example'`,
      [sender.workspaceId],
    )
    await ctx.db.query(`UPDATE campaign_recipients SET sends_at = now() - interval '1 hour' WHERE campaign_id = $1`, [
      id,
    ])
    await run(id)
    const { dispatched, skipped } = await figures(id)
    assert.deepEqual([dispatched, skipped], [8, 1])
  })
})
