/** Whose turn it is: those that are sent do not wait for those that begin. */
import { assert } from 'chai'
import { createCampaign } from '#src/campaigns/store.ts'
import { addAudience, addMembers, BODY } from '#test/support/campaign.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { createSender } from '#test/support/sender.ts'
import { createCampaignStartRound, createCampaignRound } from './campaigns.ts'

describe('campaign loops', () => {
  let ctx: TestContext
  before(async () => {
    ctx = await createContext()
  })
  after(() => ctx.close())

  it('one starts due campaigns, the other sends started ones', async () => {
    const sender = await createSender(
      { db: ctx.db, encryption: ctx.encryption, keyPrefix: 'ms' },
      { domain: 'loops.example' },
    )
    const owner = { db: ctx.db, workspaceId: sender.workspaceId }
    const audience = await addAudience(owner)
    await addMembers(owner, audience, { count: 3, domain: 'members.example' })
    const make = async (startsAt: Date): Promise<string> => {
      const fields = {
        name: 'C',
        subject: 'Hello',
        body: BODY,
        fromEmail: `a@${sender.domain}`,
        audienceIds: [audience],
      }
      const id = (await createCampaign(ctx.db, sender.workspaceId, fields))?.id ?? assert.fail()
      await ctx.db.query(
        `UPDATE campaigns SET status = 'SCHEDULED', is_open = true, scheduled_at = $2, starts_at = $2 WHERE id = $1`,
        [id, startsAt],
      )
      return id
    }
    const [due, later] = [await make(new Date(ctx.clock.now() - 1000)), await make(new Date(ctx.clock.now() + 60_000))]
    const states = async (): Promise<unknown> => {
      const { rows } = await ctx.db.query<{ id: string; status: string }>('SELECT id, status FROM campaigns')
      const byId = new Map(rows.map(({ id, status }) => [id, status]))
      return [byId.get(due), byId.get(later)]
    }
    const [begin, send] = [createCampaignStartRound(ctx), createCampaignRound(ctx)]
    assert.strictEqual(await send(), 'none')
    assert.deepEqual(await states(), ['SCHEDULED', 'SCHEDULED'])
    await begin()
    assert.deepEqual(await states(), ['SENDING', 'SCHEDULED'])
    await begin()
    assert.strictEqual((await ctx.db.query('SELECT FROM messages')).rowCount, 0)
    while ((await send()) === 'more') {
      /* until nothing is to be done at once */
    }
    assert.deepEqual(await states(), ['SENT', 'SCHEDULED'])
    assert.strictEqual((await ctx.db.query('SELECT FROM messages')).rowCount, 3)
  })
})
