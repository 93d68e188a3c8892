import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { COUNTER_NAMES } from './dimensions.ts'
import { countAllEvents, type EventFacts, storeMail, sumsOf } from './mail.test-data.ts'
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

  it('makes old rows coarser without changing a sum', async () => {
    const now = Date.now()
    for (const age of [0, 0.5, 3, 3.02, 70, 70.01, 71])
      for (const tag of ['a', 'b']) {
        const at = new Date(now - age * DAY_MS)
        await storeMail(ctx.db, { workspaceId, at, tags: [tag] }, SENT)
      }
    // old mail is counted as it is after an upgrade
    await ctx.db.query(`UPDATE statistics_cursors SET since = 'epoch', tx = '0' WHERE name = 'new'`)
    await countAll()
    const before = [await sums('all'), await sums('tag')]
    while (await rollUp(ctx, 3));
    assert.deepEqual([await sums('all'), await sums('tag')], before)
    const { rows } = await ctx.db.query<{ resolution: number; sent: number }>(
      sql`
        SELECT resolution, sum(sent)::int AS sent
        FROM statistics
        WHERE workspace_id = $1 AND dimension = 'tag'
        GROUP BY 1
        ORDER BY 1`,
      [workspaceId],
    )
    assert.deepEqual(rows, [
      { resolution: 0, sent: 4 },
      { resolution: 1, sent: 4 },
      { resolution: 2, sent: 6 },
    ])
  })

  it('deletes what is older than the setting, and what belongs to no workspace', async () => {
    const gone = newId()
    await storeMail(ctx.db, { workspaceId, at: new Date() }, SENT)
    await countAll()
    for (const table of ['statistics', 'link_clicks']) {
      const when = table === 'statistics' ? 'dimension, resolution, value, at' : 'content, url, day'
      const values = table === 'statistics' ? `'all', 2, ''` : `'', ''`
      await ctx.db.query(
        `INSERT INTO ${table} (workspace_id, ${when}) VALUES ($1, ${values}, now()), ($2, ${values}, $3)`,
        [gone, workspaceId, new Date(Date.now() - 6 * 365 * DAY_MS)],
      )
    }
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
})
