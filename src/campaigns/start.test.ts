/** Changes to a campaign while it is validated: it is edited, recalled, or rescheduled. */
import { assert } from 'chai'
import { createRenderer, type Renderer } from '#src/templates/renderer.ts'
import { addAudience, addMembers, BODY } from '#test/support/campaign.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { createSender, type Sender } from '#test/support/sender.ts'
import { startScheduledCampaign } from './scheduled-start.ts'
import { moveCampaign } from './transitions.ts'
import { validateCampaign, startCampaign } from './start.ts'
import { changeDraft, createCampaign, findCampaign } from './store.ts'

describe('a campaign that changes while it is validated', () => {
  let ctx: TestContext
  let sender: Sender
  let renderer: Renderer
  before(async () => {
    ctx = await createContext()
    renderer = createRenderer({ threads: 1 })
    sender = await createSender(
      { db: ctx.db, encryption: ctx.encryption, keyPrefix: 'ms' },
      { domain: 'start.example' },
    )
  })
  after(async () => {
    await renderer.stop()
    await ctx.close()
  })
  const nameOf = (id: string) => ({ workspaceId: sender.workspaceId, id })
  async function draft(): Promise<string> {
    const owner = { db: ctx.db, workspaceId: sender.workspaceId }
    const audience = await addAudience(owner)
    await addMembers(owner, audience, { count: 1, domain: 'start-members.example' })
    const campaign = await createCampaign(ctx.db, sender.workspaceId, {
      name: 'C',
      subject: 'Hello',
      body: BODY,
      fromEmail: `a@${sender.domain}`,
      audienceIds: [audience],
    })
    assert.ok(campaign !== null)
    return campaign.id
  }
  /** Does something once, when the content is being looked at. */
  function meanwhile(work: () => Promise<unknown>): Renderer {
    let isDone = false
    return {
      ...renderer,
      validateForCampaign: async (workspace, source) => {
        if (!isDone) {
          isDone = true
          await work()
        }
        return renderer.validateForCampaign(workspace, source)
      },
    }
  }
  async function subjectOf(id: string): Promise<string | undefined> {
    const { rows } = await ctx.db.query<{ subject: string }>(
      'SELECT m.subject FROM campaigns k JOIN mail_contents m ON m.id = k.content_id WHERE k.id = $1',
      [id],
    )
    return rows[0]?.subject
  }
  async function schedule(id: string, at: Date): Promise<void> {
    const moved = await moveCampaign(ctx.db, nameOf(id), 'schedule', {
      is_open: true,
      scheduled_at: at,
      starts_at: at,
      timezone: 'UTC',
    })
    assert.strictEqual(moved.kind, 'moved')
  }
  const now = (): Date => new Date(ctx.clock.now())

  it('sends the content that it had when it started', async () => {
    const id = await draft()
    const change = (): Promise<unknown> => changeDraft(ctx.db, sender.workspaceId, id, { subject: 'Corrected' })
    assert.strictEqual((await startCampaign({ ...ctx, renderer: meanwhile(change) }, nameOf(id))).kind, 'moved')
    assert.strictEqual(await subjectOf(id), 'Corrected')
  })
  it('is not sent without validation', async () => {
    const id = await draft()
    const change = (): Promise<unknown> => changeDraft(ctx.db, sender.workspaceId, id, { body: '<p>no way out</p>' })
    assert.strictEqual((await startCampaign({ ...ctx, renderer: meanwhile(change) }, nameOf(id))).kind, 'blocked')
    assert.strictEqual((await findCampaign(ctx.db, sender.workspaceId, id))?.status, 'DRAFT')
  })
  it('does not start if it was recalled', async () => {
    const id = await draft()
    await schedule(id, now())
    const recall = (): Promise<unknown> =>
      moveCampaign(ctx.db, nameOf(id), 'recall', { is_open: false, scheduled_at: null, starts_at: null })
    await startScheduledCampaign({ ...ctx, renderer: meanwhile(recall) }, nameOf(id))
    assert.strictEqual((await findCampaign(ctx.db, sender.workspaceId, id))?.status, 'DRAFT')
  })
  it('neither starts nor fails if it was rescheduled', async () => {
    for (const body of [BODY, '<p>no way out</p>']) {
      const id = await draft()
      await schedule(id, now())
      const later = new Date(ctx.clock.now() + 3_600_000)
      const postpone = async (): Promise<void> => {
        await moveCampaign(ctx.db, nameOf(id), 'recall', { is_open: false })
        await changeDraft(ctx.db, sender.workspaceId, id, { body })
        await schedule(id, later)
      }
      await startScheduledCampaign({ ...ctx, renderer: meanwhile(postpone) }, nameOf(id))
      const found = await findCampaign(ctx.db, sender.workspaceId, id)
      assert.deepEqual([found?.status, found?.scheduledAt], ['SCHEDULED', later])
    }
  })
  it('does not fail if another worker has started it', async () => {
    const id = await draft()
    await schedule(id, now())
    const begin = async (): Promise<void> => {
      assert.strictEqual((await startCampaign({ ...ctx, renderer }, nameOf(id))).kind, 'moved')
      await ctx.db.query(`UPDATE domains SET verification_status = 'failed' WHERE id = $1`, [sender.domainId])
    }
    // after the content is looked at and found broken, the other worker has begun it
    const begun = meanwhile(begin)
    const slow: Renderer = {
      ...begun,
      validateForCampaign: async (workspace, source) => {
        await begun.validateForCampaign(workspace, source)
        return [{ rule: 'cannot-be-rendered', level: 'error', part: 'body', line: null, message: 'it took too long' }]
      },
    }
    await startScheduledCampaign({ ...ctx, renderer: slow }, nameOf(id))
    await ctx.db.query(`UPDATE domains SET verification_status = 'verified' WHERE id = $1`, [sender.domainId])
    assert.strictEqual((await findCampaign(ctx.db, sender.workspaceId, id))?.status, 'SENDING')
  })
  it('a manual start sends now, even if it was scheduled for local times', async () => {
    const id = await draft()
    await schedule(id, new Date(ctx.clock.now() + 3_600_000))
    await ctx.db.query(
      `UPDATE campaigns SET send_mode = 'recipient_time', local_time = '2031-01-01_09:00:00' WHERE id = $1`,
      [id],
    )
    assert.strictEqual((await startCampaign({ ...ctx, renderer }, nameOf(id))).kind, 'moved')
    assert.strictEqual((await findCampaign(ctx.db, sender.workspaceId, id))?.isRecipientTime, false)
  })
  it('a template paused by the renderer affects only its workspace', async () => {
    const keys = new Set<string>()
    const watched: Renderer = {
      ...renderer,
      renderMany: (source, params) => {
        keys.add(source.key)
        return renderer.renderMany(source, params)
      },
    }
    const other = await createSender(
      { db: ctx.db, encryption: ctx.encryption, keyPrefix: 'ms' },
      { domain: 'other-start.example' },
    )
    for (const workspaceId of [sender.workspaceId, other.workspaceId]) {
      const campaign = await createCampaign(ctx.db, workspaceId, { name: 'C', subject: 'S', body: BODY })
      assert.ok(campaign !== null)
      await validateCampaign({ db: ctx.db, renderer: watched }, workspaceId, campaign)
    }
    assert.strictEqual(keys.size, 2)
  })
  it('a campaign that needs force fails at its scheduled time unless it was scheduled with force', async () => {
    for (const [isForced, status] of [
      [false, 'FAILED'],
      [true, 'SENDING'],
    ] as const) {
      const id = await draft()
      // saved with a good template, which cannot be filled in any more
      await changeDraft(ctx.db, sender.workspaceId, id, { body: `${BODY}{{upper tags}}` })
      await schedule(id, now())
      await ctx.db.query('UPDATE campaigns SET is_forced = $2 WHERE id = $1', [id, isForced])
      await startScheduledCampaign({ ...ctx, renderer }, nameOf(id))
      const found = await findCampaign(ctx.db, sender.workspaceId, id)
      assert.strictEqual(found?.status, status)
      if (!isForced) assert.match(found?.reason ?? '', /upper takes a text/)
    }
  })
  it('validates both subjects of an A/B test', async () => {
    const id = await draft()
    await changeDraft(ctx.db, sender.workspaceId, id, {
      subjectB: 'Hello {{#if firstName}}',
      testPercent: 20,
      testMinutes: 60,
    })
    assert.strictEqual((await startCampaign({ ...ctx, renderer }, nameOf(id))).kind, 'blocked')
  })
})
