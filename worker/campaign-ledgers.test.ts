import { assert } from 'chai'
import { retryFailed } from '#src/campaigns/retry.ts'
import { storeContent } from '#src/deferred-content/content-store.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { deleteOldLedgers } from '#src/retention/campaign-ledgers.ts'

describe('ledgers of campaigns that ended long ago', () => {
  let ctx: TestContext
  let workspaceId: string
  beforeEach(async () => {
    ctx = await createContext()
    workspaceId = await ctx.newWorkspace()
  })
  afterEach(() => ctx.close())

  const addCampaign = async (days: number, recipients: number): Promise<string> => {
    const content = { templateId: null, templateVersion: null, subject: 'S', html: null, text: 'T' }
    const id = newId()
    await ctx.db.query(
      sql`
        INSERT INTO campaigns (id, workspace_id, name, status, from_email, content_id, started_at, ended_at)
        VALUES ($1, $2, 'C', 'COMPLETED', 'a@sender.example', $3, now(), now() - make_interval(days => $4))`,
      [id, workspaceId, await storeContent(ctx.db, workspaceId, content), days],
    )
    await ctx.db.query(
      sql`
        INSERT INTO campaign_recipients (campaign_id, workspace_id, contact_id, email, state, is_waiting)
        SELECT $1, $3, gen_random_uuid(), 'b@receiver.example', 'failed', false
        FROM generate_series(1, $2)`,
      [id, recipients, workspaceId],
    )
    return id
  }

  const count = async (from: string): Promise<number> =>
    (await ctx.db.query<{ count: number }>(`SELECT count(*) FROM ${from}`)).rows[0]?.count ?? -1

  it('deletes contents after the whole ledger; until then a retry ends the deletion', async () => {
    const id = await addCampaign(500, 10_001)
    assert.isTrue(await deleteOldLedgers(ctx))
    assert.deepEqual([await count('campaign_recipients'), await count('mail_contents')], [1, 1])
    assert.strictEqual((await retryFailed(ctx.db, { workspaceId, id })).kind, 'moved')
    assert.isFalse(await deleteOldLedgers(ctx))
    assert.strictEqual(await count('mail_contents'), 1)
  })

  it('finishes a campaign once, and refuses to retry it', async () => {
    const [id] = [await addCampaign(500, 2), await addCampaign(10, 3)]
    assert.isTrue(await deleteOldLedgers(ctx))
    assert.isFalse(await deleteOldLedgers(ctx), 'a finished campaign is not read again')
    assert.deepEqual([await count('campaign_recipients'), await count('mail_contents')], [3, 1])
    assert.strictEqual((await retryFailed(ctx.db, { workspaceId, id })).kind, 'deleted')
  })

  it('does not wait for a campaign that another transaction has locked', async () => {
    const id = await addCampaign(500, 1)
    await ctx.db.transaction(async (tx) => {
      await tx.query('SELECT FROM campaigns WHERE id = $1 FOR UPDATE', [id])
      assert.isFalse(await deleteOldLedgers(ctx))
    })
    assert.isTrue(await deleteOldLedgers(ctx))
  })
})
