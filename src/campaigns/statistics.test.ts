import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { CAMPAIGN_COUNTERS, mergeCounterDeltas, readStatistics } from './statistics.ts'

describe('counter deltas of campaigns', () => {
  let ctx: TestContext
  const campaigns = [newId(), newId()]
  before(async () => {
    ctx = await createContext()
    const workspaceId = await ctx.newWorkspace()
    for (const id of campaigns)
      await ctx.db.query(
        `INSERT INTO campaigns (id, workspace_id, name, status, is_open) VALUES ($1, $2, 'c', 'SENDING', true)`,
        [id, workspaceId],
      )
  })
  after(() => ctx.close())

  async function add(campaign: string, variant: string | null, delivered: number): Promise<void> {
    const counts = CAMPAIGN_COUNTERS.map((name) => (name === 'delivered' ? delivered : 0))
    await ctx.db.query(
      sql`
        INSERT INTO campaign_changes (campaign_id, variant, ${CAMPAIGN_COUNTERS.join(', ')})
        VALUES ($1, $2, ${counts.join(', ')})
      `,
      [campaign, variant],
    )
  }
  const rowIds = async (): Promise<number[]> =>
    (await ctx.db.query<{ id: number }>('SELECT id FROM campaign_changes ORDER BY id')).rows.map(({ id }) => id)
  const delivered = (id: string): Promise<number> => readStatistics(ctx.db, id).then(({ all }) => all.delivered)

  it('become one row for each variant, and the sums stay', async () => {
    for (const variant of [null, 'a', 'b', 'a', null]) await add(campaigns[0] ?? '', variant, 2)
    await add(campaigns[1] ?? '', null, 5)
    assert.strictEqual(await mergeCounterDeltas(ctx.db), 'some')
    assert.lengthOf(await rowIds(), 4)
    assert.deepEqual(await Promise.all(campaigns.map(delivered)), [10, 5])
  })

  it('are not written again while there is nothing to merge', async () => {
    const before = await rowIds()
    assert.strictEqual(await mergeCounterDeltas(ctx.db), 'none')
    assert.deepEqual(await rowIds(), before)
  })
})
