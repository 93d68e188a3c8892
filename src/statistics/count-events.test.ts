import { assert } from 'chai'
import { Client } from 'pg'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { countEvents, countSlice, intervalsAt } from './count-events.ts'
import { COUNTER_NAMES, INSTALLATION, RESOLUTIONS } from './dimensions.ts'
import { divide } from './intervals.ts'
import { readLinks } from './link-report.ts'
import {
  countAllEvents,
  type EventFacts,
  RECOUNT,
  storeEvents,
  storeMail,
  sumsOf,
  waitForOlderTransactions,
} from './mail.test-data.ts'
import { readReport, type Report, type ReportQuery } from './report.ts'

const MAX_VALUES = RESOLUTIONS.minute.values
const DAY_MS = 24 * 3600 * 1000
const SENT: readonly EventFacts[] = [['email.queued'], ['email.sent'], ['email.delivered']]

describe('counting events', () => {
  let ctx: TestContext
  let workspaceId: string
  before(async () => {
    ctx = await createContext()
  })
  after(() => ctx.close())
  beforeEach(async () => {
    await ctx.db.query('DELETE FROM events')
    await ctx.db.query('DELETE FROM statistics')
    await ctx.db.query('DELETE FROM link_clicks')
    workspaceId = await ctx.newWorkspace()
  })

  const countAll = (slice?: number): Promise<void> => countAllEvents(ctx, slice)
  const recount = async (): Promise<object | undefined> => (await ctx.db.query<object>(RECOUNT)).rows[0]
  const sums = async (dimension: string, scope = workspaceId): Promise<Record<string, number>> =>
    (await ctx.db.query<Record<string, number>>(sumsOf(COUNTER_NAMES), [scope, dimension])).rows[0] ?? {}
  async function report(query: Partial<ReportQuery> = {}, now = Date.now()): Promise<Report> {
    const division = divide(new Date(now - 3 * DAY_MS), new Date(now + 60_000), 'day', 'UTC')
    assert.ok(division !== null)
    return readReport(ctx.db, {
      scope: workspaceId,
      dimension: 'all',
      value: null,
      interval: 'day',
      division,
      counters: ['sent', 'bounced_hard'],
      limit: 10,
      ...query,
    })
  }
  const valuesOf = ({ totals }: Report): unknown[] => totals.map(({ value, counts }) => [value, counts.sent])

  it('counts each kind of event by each dimension', async () => {
    const at = new Date()
    const campaignId = newId()
    const template = newId()
    await storeMail(
      ctx.db,
      {
        workspaceId,
        at,
        tier: 'bulk',
        from: 'News@Sender.example',
        tags: ['spring', 'vip:yes'],
        campaignId,
        template,
        host: 'alt1.gmail-smtp-in.l.google.com',
        source: '192.0.2.1',
      },
      [
        ...SENT,
        ['email.opened', { machine: true, machine_rule: 'proxy', first: false }],
        ['email.opened', { machine: false, first: true }],
        ['email.opened', { machine: false, first: false }],
        ['email.clicked', { machine: false, first: true, url: 'https://shop.example/a?x=1' }],
        ['email.clicked', { machine: true, first: false, url: 'https://shop.example/a' }],
        ['email.complained', { feedback_type: 'abuse' }],
        ['email.unsubscribed', {}],
      ],
    )
    await storeMail(ctx.db, { workspaceId, at, host: null, recipient: 'x@nowhere.example' }, [
      ['email.scheduled'],
      ['email.deferred', { reason: 'dns' }],
      ['email.bounced', { bounce_type: 'hard', bounce_class: 'no-such-domain' }],
      ['email.sent', { test: true }],
    ])
    await storeMail(ctx.db, { workspaceId, at }, [
      ['email.failed', { reason: 'suppressed' }],
      ['email.failed', { reason: 'too-old' }],
      ['email.cancelled'],
      ['email.bounced', { bounce_type: 'soft', bounce_class: 'spam' }],
    ])
    await countAll()
    assert.deepEqual(await sums('all'), (await recount()) as never)
    assert.deepEqual(await sums('all', INSTALLATION), await sums('all'))
    const { rows } = await ctx.db.query<{ dimension: string; value: string }>(
      `SELECT dimension, value FROM statistics WHERE workspace_id = $1 AND dimension <> 'all' ORDER BY 1, 2`,
      [workspaceId],
    )
    assert.deepEqual(
      rows.map(({ dimension, value }) => `${dimension} ${value}`),
      [
        `campaign ${campaignId}`,
        'class dns',
        'class no-such-domain',
        'class spam',
        'domain sender.example',
        'receiver google.com',
        'receiver nowhere.example',
        'receiver_class nowhere.example dns',
        'receiver_class nowhere.example no-such-domain',
        'source 192.0.2.1',
        'tag spring',
        'tag vip:yes',
        `template ${template}`,
        'tier bulk',
        'tier normal',
      ],
    )
    const links = await readLinks(ctx.db, {
      workspaceId,
      from: new Date(at.getTime() - DAY_MS),
      to: new Date(at.getTime() + DAY_MS),
      content: { kind: 'campaign', id: campaignId },
      limit: 10,
    })
    assert.deepEqual(links, [
      { url: 'https://shop.example/a', position: null, clicked: 1, clickedUnique: 1, clickedMachine: 1 },
    ])
  })

  it('skips no event that commits late, and counts none twice', async () => {
    const slow = new Client({ connectionString: ctx.databaseUrl })
    await slow.connect()
    await slow.query('BEGIN')
    await storeMail(slow, { workspaceId, at: new Date() }, SENT)
    await storeMail(ctx.db, { workspaceId, at: new Date() }, SENT)
    await countEvents(ctx)
    assert.strictEqual((await sums('all'))['sent'], 0, 'an older transaction is open')
    await slow.query('COMMIT')
    await slow.end()
    await countAll()
    await countAll()
    assert.deepEqual(await sums('all'), (await recount()) as never)
    assert.strictEqual((await sums('all'))['sent'], 2)
  })

  it('counts each event once with several workers, small slices and transactions that roll back', async () => {
    let isWriting = true
    const write = async (seed: number): Promise<void> => {
      const client = new Client({ connectionString: ctx.databaseUrl })
      await client.connect()
      for (let round = 0; round < 15; round++) {
        await client.query('BEGIN')
        await storeMail(client, { workspaceId, at: new Date(), tags: [`tag ${seed}`] }, SENT)
        await client.query((seed + round) % 4 === 0 ? 'ROLLBACK' : 'COMMIT')
      }
      await client.end()
    }
    const work = async (slice: number): Promise<void> => {
      while (isWriting) await countEvents(ctx, slice)
    }
    const workers = [work(3), work(7), work(1)]
    await Promise.all([write(1), write(2), write(3)])
    isWriting = false
    await Promise.all(workers)
    await countAll(2)
    assert.deepEqual(await sums('all'), (await recount()) as never)
    assert.deepEqual((await sums('tag'))['sent'], (await sums('all'))['sent'])
  })

  it('knows how many events came in a second', async () => {
    await countAll()
    await storeMail(ctx.db, { workspaceId, at: new Date() }, SENT)
    await waitForOlderTransactions(ctx.db)
    const { isMore, perSecond } = await countSlice(ctx, SENT.length)
    assert.isTrue(isMore)
    assert.isAbove(perSecond, 0)
    assert.deepEqual(await countSlice(ctx), { isMore: false, perSecond: 0 })
  })

  for (const [perSecond, intervals] of [
    [0, 1],
    [100, 1],
    [150, 1.5],
    [300, 3],
    [5000, 3],
  ] as const)
    it(`waits ${intervals} intervals at ${perSecond} events a second`, () =>
      assert.strictEqual(intervalsAt(perSecond), intervals))

  it('counts nothing of a slice that rolled back', async () => {
    await storeMail(ctx.db, { workspaceId, at: new Date() }, SENT)
    await waitForOlderTransactions(ctx.db)
    await ctx.db.query(`ALTER TABLE statistics_cursors ADD CONSTRAINT stuck CHECK (tx = '1') NOT VALID`)
    await assert.isRejected(countEvents(ctx), /stuck/)
    assert.strictEqual((await sums('all'))['sent'], 0)
    await ctx.db.query('ALTER TABLE statistics_cursors DROP CONSTRAINT stuck')
    await countAll()
    assert.strictEqual((await sums('all'))['sent'], 1)
  })

  it('counts stored events of before the upgrade beside new ones', async () => {
    const old = new Date(Date.now() - 10 * DAY_MS)
    await storeMail(ctx.db, { workspaceId, at: old }, SENT)
    await waitForOlderTransactions(ctx.db)
    await ctx.db.query(sql`
      INSERT INTO statistics_cursors (name, tx, id, since, before_tx)
      SELECT 'stored', '0', '00000000-0000-0000-0000-000000000000', 'epoch', pg_snapshot_xmin(pg_current_snapshot())`)
    await ctx.db.query(sql`
      UPDATE statistics_cursors
      SET tx = pg_snapshot_xmin(pg_current_snapshot()), id = '00000000-0000-0000-0000-000000000000'
      WHERE name = 'new'`)
    await storeMail(ctx.db, { workspaceId, at: new Date() }, SENT)
    assert.isTrue(await countEvents(ctx, 2))
    assert.isFalse((await report()).isComplete)
    await countAll(2)
    await countAll(2)
    assert.deepEqual(await sums('all'), (await recount()) as never)
    assert.isTrue((await report()).isComplete)
  })

  it('limits the values of a period, the largest first, and loses no event', async () => {
    const at = new Date()
    const tags = Array.from({ length: 50 }, (_, i) => `=tag ${i}`)
    for (let n = 0; n < 5; n++)
      await storeMail(ctx.db, { workspaceId, at, tags: tags.map((tag) => `${tag} of ${n}`) }, [['email.sent']])
    await storeMail(ctx.db, { workspaceId, at, tags: ['large'] }, [['email.sent'], ['email.sent']])
    await countAll()
    await storeMail(ctx.db, { workspaceId, at, tags: ['later', 'large'] }, [['email.sent']])
    await countAll()
    const { rows } = await ctx.db.query<{ value: string; sent: number }>(
      `SELECT value, sent FROM statistics WHERE workspace_id = $1 AND dimension = 'tag' ORDER BY sent DESC`,
      [workspaceId],
    )
    assert.strictEqual(rows.length, MAX_VALUES + 1)
    assert.deepEqual(rows[0], { value: '', sent: 254 - 3 - (MAX_VALUES - 1) })
    assert.deepEqual(rows[1], { value: 'large', sent: 3 })
    assert.strictEqual((await sums('tag'))['sent'], 254)
  })

  it('reports the largest values by themselves and the rest together', async () => {
    const at = new Date()
    for (const [tag, mails] of Object.entries({ a: 4, b: 3, c: 2, d: 1 }))
      for (let n = 0; n < mails; n++) await storeMail(ctx.db, { workspaceId, at, tags: [tag] }, [['email.sent']])
    await countAll()
    assert.deepEqual(valuesOf(await report({ dimension: 'tag', limit: 2 })), [
      ['a', 4],
      ['b', 3],
      [null, 3],
    ])
    assert.deepEqual(valuesOf(await report({ dimension: 'tag', value: 'c' })), [['c', 2]])
    assert.deepEqual(valuesOf(await report()), [[null, 10]])
    assert.deepEqual(valuesOf(await report({ scope: INSTALLATION, dimension: 'workspace' })), [[workspaceId, 10]])
    const other = await ctx.newWorkspace()
    assert.deepEqual(valuesOf(await report({ scope: other, dimension: 'tag' })), [])
  })

  it('counts the first click of a recipient on each link, and the first of all', async () => {
    const at = new Date()
    const id = await storeMail(ctx.db, { workspaceId, at }, [['email.sent']])
    const click = (path: string, first: boolean): EventFacts => [
      'email.clicked',
      { machine: false, first, url: `https://shop.example/${path}` },
    ]
    await storeEvents(ctx.db, { id, workspaceId, at }, [click('a', true), click('b', false), click('a', false)])
    await countAll()
    const links = await readLinks(ctx.db, { workspaceId, from: at, to: at, content: null, limit: 10 })
    assert.deepEqual(
      links.map(({ url, clicked, clickedUnique }) => [url, clicked, clickedUnique]),
      [
        ['https://shop.example/a', 2, 1],
        ['https://shop.example/b', 1, 1],
      ],
    )
    assert.strictEqual((await sums('all'))['clicked_unique'], 1)
  })
})
