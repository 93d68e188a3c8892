import { assert } from 'chai'
import { migrate, undoMigrations } from '#src/stores/migrate.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { COUNTER_NAMES } from './dimensions.ts'
import { divide, type IntervalName, INTERVALS } from './intervals.ts'
import { countAllEvents, type EventFacts, storeMail } from './mail.test-data.ts'
import { readReport, type ReportQuery } from './report.ts'
import { rollUp } from './roll-up.ts'

const [HOUR_MS, DAY_MS] = [3_600_000, 24 * 3_600_000]
const SENT: readonly EventFacts[] = [['email.queued'], ['email.sent'], ['email.delivered']]
const ZONES = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Pacific/Auckland']
/** Of mail, in days: in minutes that are not rolled up, at the ends of days, weeks and months, and in each season. */
const RECENT = [0, 0.004, 0.03, 0.05, 0.2, 0.5, 0.9, 1.3, 2, 5.1, 9.7, 14.2, 20.4, 29.9, 30.4, 30.8, 31.5, 32.2]
const AGES = RECENT.concat(40, 45.6, 61, 75.5, 90.3, 122, 150.5, 183, 215.7, 250.2, 300.1, 333, 363.2)
/** Three mails of each age. */
const TAGS = [
  ['a', 'b', 'c'],
  ['a', 'b'],
  ['a', 'd'],
]
/** How often each counts. The two largest are reported by themselves. */
const COUNTS = { a: 3, b: 2, rest: 2 }
const CASES: readonly [interval: IntervalName, days: number][] = [
  ['minute', 0.95],
  ['hour', 30],
  ['day', 364],
  ['day', 33],
  ['week', 364],
  ['month', 364],
]

describe('reports', () => {
  let ctx: TestContext
  let workspaceId: string
  let now: number
  before(async () => {
    ctx = await createContext()
    workspaceId = await ctx.newWorkspace()
    now = Date.now()
    for (const half of [0, 1])
      for (const [i, age] of AGES.entries()) if (i % 2 === half) await storeAt(new Date(now - age * DAY_MS))
  })
  after(() => ctx.close())

  async function storeAt(at: Date): Promise<void> {
    for (const tags of TAGS) await storeMail(ctx.db, { workspaceId, at, tags }, SENT)
  }

  /** Counts all stored events, as after an upgrade; those of before `rolledMs` are late. */
  async function countFrom(rolledMs: number): Promise<void> {
    await ctx.db.query('DELETE FROM statistics')
    await ctx.db.query(
      `UPDATE statistics_cursors SET rolled_until = $1, since = 'epoch', tx = '0' WHERE name = 'new'`,
      [new Date(rolledMs)],
    )
    await countAllEvents(ctx)
  }
  async function rollAllUp(slice = 20_000): Promise<void> {
    while (await rollUp(ctx, slice));
  }
  async function rolledUntil(): Promise<number> {
    const { rows } = await ctx.db.query<{ at: Date }>(`SELECT rolled_until AS at FROM statistics_cursors`)
    return rows[0]?.at.getTime() ?? 0
  }

  /** When an event counts: in its minute, its hour, or its day of UTC at noon. */
  function countedAt(at: number, interval: IntervalName, rolledMs: number): number {
    const { needs } = INTERVALS[interval]
    if (needs === 'minute' || at >= rolledMs) return at
    const hoursFrom = Math.ceil((now - 31 * DAY_MS) / DAY_MS) * DAY_MS
    if (needs === 'hour' || at >= hoursFrom) return Math.floor(at / HOUR_MS) * HOUR_MS
    return Math.floor(at / DAY_MS) * DAY_MS + DAY_MS / 2
  }

  /** Each report, and what it must be. */
  async function assertReports(): Promise<void> {
    const rolledMs = await rolledUntil()
    for (const [interval, days] of CASES)
      for (const zone of ZONES) {
        const division = divide(new Date(now - days * DAY_MS), new Date(now + 60_000), interval, zone)
        assert.ok(division !== null)
        const starts = AGES.map((age) => countedAt(Math.floor(now - age * DAY_MS), interval, rolledMs)).flatMap(
          (at) => division.starts.findLast((one) => one.getTime() <= at)?.getTime() ?? [],
        )
        const expected = [...Map.groupBy(starts, (start) => start)]
          .toSorted(([a], [b]) => a - b)
          .map(([start, mails]) => [new Date(start).toISOString(), mails.length] as const)
        const rowsOf = async (query: Partial<ReportQuery>): Promise<unknown[]> => {
          const base = { scope: workspaceId, dimension: 'tag', value: null, interval, division, limit: 2 } as const
          const { rows } = await readReport(ctx.db, { ...base, counters: COUNTER_NAMES, ...query })
          return rows.map(({ at, value, counts }) => [at.toISOString(), value, counts.accepted, counts.delivered])
        }
        const name = `${interval} in ${zone}, ${days} days`
        const grouped = expected.flatMap(([start, n]) =>
          [
            ['a', COUNTS.a * n],
            ['b', COUNTS.b * n],
            [null, COUNTS.rest * n],
          ].map(([value, count]) => [start, value, count, count]),
        )
        assert.deepEqual(await rowsOf({}), grouped, name)
        const some = expected.map(([start, n]) => [start, 'b', COUNTS.b * n, COUNTS.b * n])
        assert.deepEqual(await rowsOf({ value: 'b' }), some, `b by ${name}`)
        const all = expected.map(([start, n]) => [start, null, TAGS.length * n, TAGS.length * n])
        assert.deepEqual(await rowsOf({ dimension: 'all' }), all, `all by ${name}`)
      }
  }

  const RECENT_MS = 26 * HOUR_MS
  const SITUATIONS: readonly [name: string, prepare: () => Promise<void>][] = [
    ['nothing is rolled up', () => countFrom(now - 400 * DAY_MS)],
    [
      'everything is rolled up',
      async () => {
        await countFrom(now - 400 * DAY_MS)
        await rollAllUp(3)
      },
    ],
    ['all events are late', () => countFrom(Math.floor(now / HOUR_MS) * HOUR_MS)],
    [
      'the roll-up stopped a day ago, in the middle of an hour',
      async () => {
        await countFrom(Math.floor((now - RECENT_MS) / HOUR_MS) * HOUR_MS + 20 * 60_000)
      },
    ],
  ]
  for (const [name, prepare] of SITUATIONS)
    it(`have each event in its interval when ${name}`, async () => {
      await prepare()
      await assertReports()
    }).timeout(60_000)

  it('have events that were counted after their hour was rolled up', async () => {
    await countFrom(now - 400 * DAY_MS)
    await rollAllUp()
    AGES.push(0.31, 8.4, 30.6, 33.3, 200.4)
    for (const age of AGES.slice(-5)) await storeAt(new Date(now - age * DAY_MS))
    await ctx.db.query(`UPDATE statistics_cursors SET since = 'epoch'`)
    await countAllEvents(ctx)
    await assertReports()
  }).timeout(60_000)

  const STORED = sql`
    SELECT workspace_id, dimension, at, resolution, value, ${COUNTER_NAMES.join(', ')}
    FROM statistics
    WHERE resolution > 0
    ORDER BY 1, 2, 3, 4, 5`

  it('are the same after weeks, months and totals were added up by the migration', async () => {
    const { rows: before } = await ctx.db.query(STORED)
    await undoMigrations(ctx.databaseUrl, '101-more-live-lists.ts')
    const { rows: without } = await ctx.db.query(STORED)
    assert.isBelow(without.length, before.length / 2)
    await migrate(ctx.databaseUrl)
    const { rows: after } = await ctx.db.query(STORED)
    assert.deepEqual(after, before)
    await assertReports()
  }).timeout(60_000)

  it('lose no event when the migration finds more values than a week or a month may have', async () => {
    await undoMigrations(ctx.databaseUrl, '101-more-live-lists.ts')
    await ctx.db.query('DELETE FROM statistics')
    await ctx.db.query(
      sql`
        INSERT INTO statistics (workspace_id, dimension, at, resolution, value, sent)
        SELECT $1, 'tag', timestamptz '2025-03-03 00:00Z' + n % 28 * interval '1 day', 2, 'tag ' || n, n
        FROM generate_series(1, 2000) n`,
      [workspaceId],
    )
    await migrate(ctx.databaseUrl)
    const { rows } = await ctx.db.query(
      sql`
        SELECT resolution, count(DISTINCT at)::int AS periods, count(*)::int AS values, sum(sent)::int AS sent
        FROM statistics
        WHERE dimension = 'tag'
        GROUP BY 1
        ORDER BY 1`,
    )
    const sent = (2000 * 2001) / 2
    assert.deepEqual(rows, [
      { resolution: 2, periods: 28, values: 2000, sent },
      { resolution: 3, periods: 4, values: 4 * 401, sent },
      { resolution: 4, periods: 1, values: 1001, sent },
    ])
  }).timeout(60_000)
})
