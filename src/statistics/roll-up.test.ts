import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { COUNTER_NAMES } from './dimensions.ts'
import { divide } from './intervals.ts'
import { countAllEvents, type EventFacts, storeMail, sumsOf } from './mail.test-data.ts'
import { readReport } from './report.ts'
import { deleteOrphans, rollUp } from './roll-up.ts'

const DAY_MS = 24 * 3600 * 1000
const SENT: readonly EventFacts[] = [['email.queued'], ['email.sent'], ['email.delivered']]

describe('rolling statistics up', () => {
  let ctx: TestContext
  let workspaceId: string
  before(async () => {
    ctx = await createContext()
  })
  after(() => ctx.close())
  beforeEach(async () => {
    for (const table of ['events', 'statistics', 'link_clicks']) await ctx.db.query(`DELETE FROM ${table}`)
    workspaceId = await ctx.newWorkspace()
  })

  const countAll = (): Promise<void> => countAllEvents(ctx)
  const sums = async (dimension: string): Promise<Record<string, number>> =>
    (await ctx.db.query<Record<string, number>>(sumsOf(COUNTER_NAMES), [workspaceId, dimension])).rows[0] ?? {}

  const rollAllUp = async (slice: number): Promise<void> => {
    while (await rollUp(ctx, slice));
  }
  const rollUntil = (time: Date): Promise<unknown> =>
    ctx.db.query('UPDATE statistics_cursors SET rolled_until = $1', [time])
  /** As mail is counted after an upgrade: events of any age. */
  const countFromTheStart = async (): Promise<void> => {
    await ctx.db.query(`UPDATE statistics_cursors SET since = 'epoch', tx = '0' WHERE name = 'new'`)
    await countAll()
  }
  const byResolution = async (): Promise<unknown[]> => {
    const { rows } = await ctx.db.query<{ resolution: number; sent: number }>(
      sql`
        SELECT resolution, sum(sent)::int AS sent
        FROM statistics
        WHERE workspace_id = $1 AND dimension = 'tag'
        GROUP BY 1
        ORDER BY 1`,
      [workspaceId],
    )
    return rows.map(({ resolution, sent }) => [resolution, sent])
  }
  const AGES = [0, 0.01, 0.5, 0.51, 3, 3.02, 70, 70.01, 71]
  async function storeAges(now: number): Promise<void> {
    for (const age of AGES)
      for (const tag of ['a', 'b'])
        await storeMail(ctx.db, { workspaceId, at: new Date(now - age * DAY_MS), tags: [tag] }, SENT)
  }
  /** The sums of each interval, and those of a year. */
  async function reportsOf(now: number): Promise<unknown> {
    const reports: unknown[] = []
    for (const [interval, days] of [
      ['minute', 0.9],
      ['hour', 30],
      ['day', 364],
      ['week', 364],
      ['month', 364],
    ] as const)
      for (const zone of ['UTC', 'Asia/Kolkata', 'America/New_York']) {
        const division = divide(new Date(now - days * DAY_MS), new Date(now + 60_000), interval, zone)
        assert.ok(division !== null)
        const query = { scope: workspaceId, dimension: 'tag', value: null, interval, division, limit: 5 } as const
        const { totals } = await readReport(ctx.db, { ...query, counters: COUNTER_NAMES })
        reports.push([interval, zone, totals.map(({ value, counts }) => [value, counts.accepted, counts.sent])])
      }
    return reports
  }

  it('changes no sum of a report, whatever is rolled up and counted later', async () => {
    const now = Date.now()
    await storeAges(now)
    await rollUntil(new Date(now - 80 * DAY_MS))
    await countFromTheStart()
    const mails = { minute: 4, hour: 6, day: 9, week: 9, month: 9 }
    const expected = Object.entries(mails).flatMap(([interval, count]) =>
      ['UTC', 'Asia/Kolkata', 'America/New_York'].map((zone) => [
        interval,
        zone,
        ['a', 'b'].map((tag) => [tag, count, count]),
      ]),
    )
    const before = [await sums('all'), await sums('tag')]
    assert.deepEqual((await byResolution()) as never, [[0, 2 * AGES.length]])
    await rollAllUp(3)
    assert.deepEqual([await sums('all'), await sums('tag')], before)
    assert.deepEqual((await reportsOf(now)) as never, expected)
    // and the other way round: everything is late
    await ctx.db.query('DELETE FROM statistics')
    await rollUntil(new Date(Math.floor(now / 3_600_000) * 3_600_000))
    await countFromTheStart()
    assert.deepEqual([await sums('all'), await sums('tag')], before)
    assert.deepEqual((await reportsOf(now)) as never, expected)
    await rollAllUp(1000)
    assert.deepEqual((await reportsOf(now)) as never, expected)
  })

  it('limits the values of a period, the largest first, and loses no event', async () => {
    const [now, tags] = [Date.now(), Array.from({ length: 60 }, (_, i) => `tag ${String(i).padStart(2, '0')}`)]
    const at = new Date(Math.floor(now / DAY_MS) * DAY_MS - 3 * DAY_MS)
    await storeMail(ctx.db, { workspaceId, at, tags }, SENT)
    await storeMail(ctx.db, { workspaceId, at, tags: ['tag 59'] }, SENT)
    await rollUntil(new Date(now - 80 * DAY_MS))
    await countFromTheStart()
    await rollAllUp(1000)
    // an hour is full, and a new value of it counts with the others
    await storeMail(ctx.db, { workspaceId, at: new Date(at.getTime() + 60_000), tags: ['later', 'tag 00'] }, SENT)
    await ctx.db.query(`UPDATE statistics_cursors SET since = 'epoch'`)
    await countAll()
    const { rows } = await ctx.db.query(
      sql`
        SELECT resolution, count(*)::int AS values, sum(sent)::int AS sent,
          coalesce(sum(sent) FILTER (WHERE value = ''), 0)::int AS rest,
          sum(sent) FILTER (WHERE value = 'tag 59')::int AS largest
        FROM statistics
        WHERE workspace_id = $1 AND dimension = 'tag' AND resolution > 0
        GROUP BY 1
        ORDER BY 1`,
      [workspaceId],
    )
    const all = { values: 61, sent: 63, rest: 0, largest: 2 }
    assert.deepEqual(rows, [
      { resolution: 1, values: 51, sent: 63, rest: 11, largest: 2 },
      ...[2, 3, 4].map((resolution) => ({ resolution, ...all })),
    ])
  })

  it('deletes minutes and hours after their time, never before they are rolled up', async () => {
    const now = Date.now()
    await storeAges(now)
    await rollUntil(new Date(now - 80 * DAY_MS))
    await countFromTheStart()
    let isMore = true
    while (isMore) {
      isMore = await rollUp(ctx, 3)
      assert.strictEqual((await sums('tag'))['sent'], 2 * AGES.length)
    }
    const [minutes, hours] = (await byResolution()) as [number, number][]
    assert.deepEqual(minutes, [0, 8])
    assert.isAtMost(hours?.[1] ?? 0, 12)
  })

  it('deletes what is older than the setting, and what belongs to no workspace', async () => {
    const gone = newId()
    await storeMail(ctx.db, { workspaceId, at: new Date() }, SENT)
    await countAll()
    const tables: readonly [table: string, columns: string, values: string][] = [
      ...[2, 3, 4].map((code): [string, string, string] => [
        'statistics',
        'dimension, resolution, value, at',
        `'all', ${code}, ''`,
      ]),
      ['link_clicks', 'content, url, day', `'', ''`],
    ]
    for (const [table, columns, values] of tables)
      await ctx.db.query(
        `INSERT INTO ${table} (workspace_id, ${columns}) VALUES ($1, ${values}, now()), ($2, ${values}, $3)`,
        [gone, workspaceId, new Date(Date.now() - 6 * 365 * DAY_MS)],
      )
    await rollUp(ctx)
    await deleteOrphans(ctx)
    const { rows } = await ctx.db.query(
      "SELECT DISTINCT workspace_id FROM statistics WHERE at < now() - interval '5 years' OR workspace_id = $1",
      [gone],
    )
    assert.deepEqual(rows, [])
    assert.strictEqual((await ctx.db.query('SELECT FROM link_clicks')).rows.length, 0)
    assert.strictEqual((await sums('all'))['sent'], 1)
  })

  it('takes a workspace that no longer exists from the sums of all workspaces', async () => {
    const [now, other] = [Date.now(), await ctx.newWorkspace()]
    for (const id of [workspaceId, other, other])
      await storeMail(ctx.db, { workspaceId: id, at: new Date(now - 3 * DAY_MS) }, SENT)
    await rollUntil(new Date(now - 80 * DAY_MS))
    await countFromTheStart()
    await rollAllUp(1000)
    // as if the mail of one had been that of a workspace which does not exist
    const gone = newId()
    await ctx.db.query('UPDATE statistics SET workspace_id = $2 WHERE workspace_id = $1', [other, gone])
    await ctx.db.query('UPDATE statistics SET value = $2 WHERE value = $1', [other, gone])
    await deleteOrphans(ctx)
    const { rows } = await ctx.db.query(
      sql`
        SELECT resolution, dimension, sent
        FROM statistics
        WHERE dimension LIKE 'workspace%' AND resolution > 1
        ORDER BY 1, 2`,
    )
    const expected = [2, 3, 4].flatMap((resolution) =>
      ['workspace', 'workspace/total'].map((dimension) => ({ resolution, dimension, sent: 1 })),
    )
    assert.deepEqual(rows, expected)
  })
})
