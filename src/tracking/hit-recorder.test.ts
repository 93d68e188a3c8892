import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { createAcceptor } from '#src/messages/accept.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { testRecipients, submissionOf } from '#test/support/submission.ts'
import { createHitQueue, type HitQueue, type ReceivedHit } from './hit-queue.ts'
import { recordHits } from './hit-recorder.ts'

const LATER_MS = 6000
interface EventRow {
  readonly type: string
  readonly n: number
  readonly sequence: number
  readonly recipient: string
  readonly data: Record<string, unknown>
}

describe('recording of opens and clicks', () => {
  let ctx: TestContext
  let workspaceId: string
  let hits: HitQueue
  before(async () => {
    ctx = await createContext()
  })
  after(() => ctx.close())
  beforeEach(async () => {
    workspaceId = await ctx.newWorkspace()
    hits = createHitQueue(ctx)
  })

  /** A message that was accepted, and sent a minute ago. */
  async function sent(recipients = 1): Promise<string> {
    const submission = submissionOf(workspaceId, { recipients: testRecipients(recipients) })
    await createAcceptor(ctx).accept(submission)
    await ctx.db.query(
      `UPDATE recipients SET state = 'delivered', is_open = false, sequence = 2 WHERE message_id = $1`,
      [submission.id],
    )
    for (let n = 0; n < recipients; n++)
      await ctx.db.query(
        sql`
          INSERT INTO events (id, workspace_id, type, message_id, n, sequence, created_at)
          VALUES ($1, $2, 'email.sent', $3, $4, 2, $5)
        `,
        [newId(), workspaceId, submission.id, n, new Date(ctx.clock.now() - 60_000)],
      )
    return submission.id
  }
  const hit = (messageId: string, said: Partial<ReceivedHit> = {}): ReceivedHit => ({
    messageId,
    n: 0,
    url: null,
    address: '192.0.2.77',
    userAgent: 'Mozilla/5.0 (X11)',
    machine: null,
    ...said,
  })
  async function recordDueHits(): Promise<void> {
    ctx.advance(LATER_MS)
    while ((await recordHits(ctx)) === 'more') {
      /* more */
    }
  }
  async function eventsOf(messageId: string): Promise<EventRow[]> {
    const { rows } = await ctx.db.query<EventRow>(
      sql`
        SELECT type, n, sequence, recipient, data
        FROM events
        WHERE message_id = $1 AND type IN ('email.opened', 'email.clicked')
        ORDER BY n, sequence
      `,
      [messageId],
    )
    return rows
  }
  const waiting = async (): Promise<number> => (await ctx.db.query('SELECT 1 FROM tracking_hits')).rowCount ?? 0

  it('records events some seconds later, numbered after earlier events', async () => {
    const id = await sent()
    await Promise.all([hits.add(hit(id)), hits.add(hit(id, { url: 'https://a.example/' }))])
    assert.strictEqual(await recordHits(ctx), 'none')
    assert.deepEqual([await eventsOf(id), await waiting()], [[], 2])
    await recordDueHits()
    const events = await eventsOf(id)
    assert.deepEqual(
      events.map(({ sequence, recipient }) => [sequence, recipient]),
      [
        [3, 'r0@receiver.example'],
        [4, 'r0@receiver.example'],
      ],
    )
    assert.ok(events.some(({ type }) => type === 'email.opened'))
    assert.deepEqual(events.find(({ type }) => type === 'email.clicked')?.data, {
      url: 'https://a.example/',
      machine: false,
      first: true,
      ip: '192.0.2.77',
      user_agent: 'Mozilla/5.0 (X11)',
    })
    assert.strictEqual(await waiting(), 0)
  })
  it('names the rule that classified a hit as a machine', async () => {
    const id = await sent()
    await hits.add(hit(id, { machine: 'head' }))
    await recordDueHits()
    assert.deepEqual((await eventsOf(id))[0]?.data, {
      machine: true,
      machine_rule: 'head',
      first: false,
      ip: '192.0.2.77',
      user_agent: 'Mozilla/5.0 (X11)',
    })
  })
  it('classifies all links followed together as a machine, including the first one', async () => {
    const id = await sent()
    await hits.add(hit(id, { url: 'https://a.example/' }))
    ctx.advance(4000)
    await hits.add(hit(id, { url: 'https://b.example/' }))
    await hits.add(hit(id, { url: 'https://c.example/' }))
    ctx.advance(2000)
    await recordHits(ctx)
    assert.deepEqual(
      (await eventsOf(id)).map(({ data }) => data['machine_rule']),
      ['all-links'],
    )
    await recordDueHits()
    assert.deepEqual(
      (await eventsOf(id)).map(({ data }) => data['machine_rule']),
      ['all-links', 'all-links', 'all-links'],
    )
  })
  it('numbers the events of all recipients of a message together', async () => {
    const id = await sent(3)
    await Promise.all([0, 1, 2].map((n) => hits.add(hit(id, { n }))))
    await recordDueHits()
    const events = await eventsOf(id)
    assert.deepEqual(
      events.map(({ n, recipient }) => [n, recipient]),
      [
        [0, 'r0@receiver.example'],
        [1, 'r1@receiver.example'],
        [2, 'r2@receiver.example'],
      ],
    )
    assert.strictEqual(new Set(events.map(({ sequence }) => sequence)).size, 3)
  })
  for (const [privacy, ip, agent] of [
    ['truncated', '192.0.2.0', 'Mozilla/5.0 (X11)'],
    ['none', null, null],
  ] as const) {
    it(`stores the client address as the workspace is set: ${privacy}`, async () => {
      await ctx.db.query('UPDATE workspaces SET tracking_privacy = $2 WHERE id = $1', [workspaceId, privacy])
      const id = await sent()
      await hits.add(hit(id))
      await recordDueHits()
      assert.deepEqual(
        (await eventsOf(id)).map(({ data }) => [data['ip'], data['user_agent']]),
        [[ip, agent]],
      )
    })
  }
  it('notifies webhooks that subscribe to it', async () => {
    await ctx.db.query(
      sql`
        INSERT INTO webhook_endpoints (id, workspace_id, url, event_types, secret)
        VALUES ($1, $2, 'https://x.example/', '{email.opened}', '')
      `,
      [newId(), workspaceId],
    )
    const id = await sent()
    await Promise.all([hits.add(hit(id)), hits.add(hit(id, { url: 'https://a.example/' }))])
    await recordDueHits()
    const { rows } = await ctx.db.query(
      'SELECT e.type FROM webhook_deliveries d JOIN events e ON e.id = d.event_id WHERE d.workspace_id = $1',
      [workspaceId],
    )
    assert.deepEqual(rows, [{ type: 'email.opened' }])
  })
  it('stores the first hit of a person and of a machine; a click counts as an open', async () => {
    const id = await sent()
    const campaignId = newId()
    await ctx.db.query(`UPDATE recipients SET campaign_id = $2 WHERE message_id = $1`, [id, campaignId])
    await ctx.db.query(
      sql`
        INSERT INTO campaign_recipients (campaign_id, contact_id, workspace_id, email, message_id)
        VALUES ($1, $2, $3, 'r0@receiver.example', $4)
      `,
      [campaignId, newId(), workspaceId, id],
    )
    const ledger = async (): Promise<Record<string, Date | null>> => {
      const { rows } = await ctx.db.query<Record<string, Date | null>>(
        sql`
          SELECT opened_at, clicked_at, machine_opened_at, machine_clicked_at
          FROM campaign_recipients
          WHERE message_id = $1
        `,
        [id],
      )
      return rows[0] ?? {}
    }
    await hits.add(hit(id, { machine: 'head' }))
    await recordDueHits()
    const first = await ledger()
    assert.deepEqual(
      Object.entries(first)
        .filter(([, at]) => at !== null)
        .map(([name]) => name),
      ['machine_opened_at'],
    )
    await hits.add(hit(id, { url: 'https://a.example/' }))
    await recordDueHits()
    const second = await ledger()
    assert.deepEqual(
      [second['machine_opened_at'], second['opened_at'], second['machine_clicked_at']],
      [first['machine_opened_at'], second['clicked_at'], null],
    )
    assert.ok(second['clicked_at'] instanceof Date)
    ctx.advance(60_000)
    await hits.add(hit(id, { url: 'https://a.example/' }))
    await recordDueHits()
    assert.deepEqual(await ledger(), second)
  })
  it('two concurrent workers record each hit once', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, () => sent()))
    await Promise.all(
      ids.flatMap((id) => [hits.add(hit(id)), hits.add(hit(id)), hits.add(hit(id, { url: 'https://a.example/' }))]),
    )
    ctx.advance(LATER_MS)
    await Promise.all([recordHits(ctx), recordHits(ctx), recordHits(ctx)])
    while ((await recordHits(ctx)) === 'more') {
      /* more */
    }
    for (const id of ids)
      assert.deepEqual((await eventsOf(id)).map(({ type }) => type).toSorted(), ['email.clicked', 'email.opened'])
  })
  it('deletes hits of a message that is no longer stored', async () => {
    await hits.add(hit(newId()))
    await recordDueHits()
    assert.strictEqual(await waiting(), 0)
  })
  it('stores at most sixty rows a minute for the link of one recipient', async () => {
    const id = await sent()
    await Promise.all(Array.from({ length: 500 }, () => hits.add(hit(id, { userAgent: 'x\0y'.repeat(1000) }))))
    assert.strictEqual(await waiting(), 60)
    ctx.advance(60_000)
    await hits.add(hit(id))
    assert.strictEqual(await waiting(), 61)
    await recordDueHits()
  })
})
