/** Counts of a campaign's recipients: exact, or estimated from a sample and marked as such. */
import { assert } from 'chai'
import { createAcceptor } from '#src/messages/accept.ts'
import { addAudience, addMembers } from '#test/support/campaign.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { submissionOf } from '#test/support/submission.ts'
import { countRecipients, sampleNeverMailed, type RecipientCounts } from './recipient-counts.ts'
import { createCampaign } from './store.ts'

describe('the recipient count of a campaign', () => {
  let ctx: TestContext
  before(async () => {
    ctx = await createContext()
  })
  after(() => ctx.close())

  /** Audiences of a campaign, with the size that is noted of it. */
  async function countOf(members: number, noted: number): Promise<RecipientCounts> {
    const workspaceId = await ctx.newWorkspace()
    const audienceId = await addAudience({ db: ctx.db, workspaceId })
    await addMembers({ db: ctx.db, workspaceId }, audienceId, { count: members, domain: 'a.example' })
    await ctx.db.query('UPDATE audiences SET subscribed_count = $2 WHERE id = $1', [audienceId, noted])
    const campaign = await createCampaign(ctx.db, workspaceId, { name: 'C', audienceIds: [audienceId] })
    if (campaign === null) return assert.fail()
    const nowMs = Date.now()
    const recipientCounts = await countRecipients(ctx.db, workspaceId, campaign, nowMs)
    const { sampled, neverMailed } = await sampleNeverMailed(ctx.db, { workspaceId, recipientCounts, nowMs }, campaign)
    assert.ok(sampled > 0 && sampled <= 500 && neverMailed === sampled, `${sampled} ${neverMailed}`)
    return recipientCounts
  }

  it('is estimated for a large audience and marked as an estimate', async () => {
    const { isEstimate, total, receivers, largest } = await countOf(24_000, 200_000)
    assert.ok(isEstimate)
    // 1,500 of the sample, give or take seven times the deviation
    assert.ok(Math.abs(total - 24_000) < 16 * 7 * Math.sqrt(1500), String(total))
    assert.deepEqual([receivers, largest], [1, [{ receiver: 'a.example', recipients: total }]])
  })

  it('finds who of the recipients was sent a message within a year', async () => {
    const workspaceId = await ctx.newWorkspace()
    const audienceId = await addAudience({ db: ctx.db, workspaceId })
    await addMembers({ db: ctx.db, workspaceId }, audienceId, { count: 3, domain: 'a.example' })
    const { rows } = await ctx.db.query<{ email: string }>('SELECT email FROM contacts WHERE workspace_id = $1', [
      workspaceId,
    ])
    const [address = ''] = rows.map(({ email }) => email)
    const recipients = [{ address: address.toUpperCase(), domain: 'a.example', kind: 'to' as const }]
    await createAcceptor(ctx).accept(submissionOf(workspaceId, { recipients }))
    const campaign = await createCampaign(ctx.db, workspaceId, { name: 'C', audienceIds: [audienceId] })
    assert.ok(campaign !== null)
    const recipientCounts = { isEstimate: false, total: 3, receivers: 1, largest: [] }
    const sample = (nowMs: number): ReturnType<typeof sampleNeverMailed> =>
      sampleNeverMailed(ctx.db, { workspaceId, recipientCounts, nowMs }, campaign)
    assert.deepEqual(await sample(Date.now()), { sampled: 3, neverMailed: 2 })
    const inTwoYears = Date.now() + 2 * 365 * 24 * 3_600_000
    assert.deepEqual(await sample(inTwoYears), { sampled: 3, neverMailed: 3 })
  })

  it('is exact if few members match, however large the audience is', async () => {
    assert.deepEqual(await countOf(300, 200_000), {
      isEstimate: false,
      total: 300,
      receivers: 1,
      largest: [{ receiver: 'a.example', recipients: 300 }],
    })
  })
})
