/** A live installation that is not complete holds its campaigns back, with the reason, and lets them go by itself. */
import { assert } from 'chai'
import { advance, createAdvanceContext } from '#src/campaigns/advance.ts'
import { storeContent } from '#src/deferred-content/content-store.ts'
import { LIVE_CHECK_NAMES, type LiveCheckName, type NamedFinding } from '#src/going-live/checks.ts'
import type { LiveFinding } from '#src/going-live/finding.ts'
import { applyCampaignHold, holdCampaign } from '#src/going-live/campaign-hold.ts'
import { storeLiveFindings } from '#src/going-live/store.ts'
import { newId } from '#src/platform/id.ts'
import { suspend } from '#src/queue/suspensions.ts'
import { sql } from '#src/stores/sql.ts'
import { addAudience, addMembers } from '#test/support/campaign.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { createSender, type Sender } from '#test/support/sender.ts'
import { createLiveCheckRound } from './live-checks.ts'
import { readQueueMetrics } from './queue-metrics.ts'

const LIVE = { MODE: 'live', MAILSTEAD_HOSTNAME: 'mail.sender.example' }
const COMPLETE = { ...LIVE, PUBLIC_URL: 'https://mail.sender.example' }

describe('campaigns of a live installation', () => {
  let ctx: TestContext
  let sender: Sender
  let id: string

  async function open(env: Record<string, string>): Promise<void> {
    ctx = await createContext(env)
    sender = await createSender({ db: ctx.db, encryption: ctx.encryption, keyPrefix: 'ms' }, { domain: 's.example' })
    id = await begin()
  }
  afterEach(() => ctx.close())

  async function begin(): Promise<string> {
    const owner = { db: ctx.db, workspaceId: sender.workspaceId }
    const audienceId = await addAudience(owner)
    await addMembers(owner, audienceId, { count: 3, domain: 'r.example' })
    const content = { templateId: null, templateVersion: null, subject: 'S', html: null, text: 'T' }
    const contentId = await storeContent(ctx.db, sender.workspaceId, content)
    const values = [newId(), sender.workspaceId, [audienceId], `a@${sender.domain}`, sender.domainId, contentId]
    const { rows } = await ctx.db.query<{ id: string }>(
      sql`
        INSERT INTO campaigns (
          id, workspace_id, name, status, audience_ids, from_email, domain_id, content_id, is_open, started_at
        )
        VALUES ($1, $2, 'C', 'SENDING', $3, $4, $5, $6, true, $7)
        RETURNING id
      `,
      [...values, new Date(ctx.clock.now())],
    )
    return rows[0]?.id ?? assert.fail()
  }

  /** The findings of a complete installation, but for these. */
  async function found(change: Partial<Record<LiveCheckName, LiveFinding['status']>> = {}): Promise<void> {
    const findings = LIVE_CHECK_NAMES.map((name): NamedFinding => {
      const status = change[name] ?? 'ok'
      return { name, status, detail: `${name} is ${status}`, todo: '', holds: name !== 'EHLO name' }
    })
    await storeLiveFindings(ctx.db, findings, new Date(ctx.clock.now()))
  }

  async function runSteps(): Promise<void> {
    const worker = createAdvanceContext(ctx)
    while (await advance(worker, id));
  }
  async function state(): Promise<readonly [status: string, reason: string | null, messages: number]> {
    const { rows } = await ctx.db.query<{ status: string; reason: string | null; messages: number }>(
      sql`
        SELECT status, reason, (SELECT count(*)::int FROM messages WHERE campaign_id = $1) AS messages
        FROM campaigns
        WHERE id = $1
      `,
      [id],
    )
    const [row] = rows
    return [row?.status ?? '', row?.reason ?? null, row?.messages ?? 0]
  }

  it('wait for the first check, then go', async () => {
    await open(COMPLETE)
    await runSteps()
    assert.deepEqual(await state(), ['SENDING', null, 0])
    await found()
    await runSteps()
    assert.deepEqual(await state(), ['SENT', null, 3])
  })

  it('are held back while a required check fails, and go on by themselves', async () => {
    await open(COMPLETE)
    await found({ PTR: 'failed' })
    await runSteps()
    assert.deepEqual(await state(), ['SENDING', 'held back: PTR: PTR is failed', 0])
    await found({ PTR: 'unknown' })
    await applyCampaignHold(ctx)
    assert.deepEqual(await state(), ['SENDING', 'held back: PTR: PTR is failed', 0], 'no answer is no evidence')
    await found()
    await applyCampaignHold(ctx)
    await runSteps()
    assert.deepEqual(await state(), ['SENT', null, 3])
  })

  it('are released when a check fails no more, but has found nothing since, for a quarter of an hour', async () => {
    await open(COMPLETE)
    await found({ PTR: 'failed', 'EHLO name': 'failed' })
    await ctx.db.query("UPDATE live_checks SET checked_at = checked_at - interval '14 minutes'")
    await found({ PTR: 'unknown', 'EHLO name': 'unknown' })
    await runSteps()
    assert.deepEqual(await state(), ['SENDING', 'held back: PTR: PTR is failed', 0])
    await ctx.db.query("UPDATE live_checks SET checked_at = checked_at - interval '20 minutes'")
    await found({ PTR: 'unknown', 'EHLO name': 'unknown' })
    await applyCampaignHold(ctx)
    await runSteps()
    assert.deepEqual(await state(), ['SENT', null, 3])
    const { rows } = await ctx.db.query("SELECT name FROM live_checks WHERE status = 'failed'")
    assert.deepEqual(rows, [{ name: 'EHLO name' }], 'what holds nothing keeps its last evidence')
  })

  it('are held back with what they have already queued', async () => {
    await open(COMPLETE)
    await found()
    await runSteps()
    await found({ 'port 25 out': 'failed' })
    await applyCampaignHold(ctx)
    assert.deepEqual((await state()).slice(0, 2), ['SENT', 'held back: port 25 out: port 25 out is failed'])
    const { rows } = await ctx.db.query('SELECT FROM suspensions WHERE kind = $1 AND subject = $2', ['campaign', id])
    assert.strictEqual(rows.length, 1)
  })

  it('stay suspended if the operator did it', async () => {
    await open(COMPLETE)
    await found()
    await suspend(ctx, { kind: 'campaign', subject: id }, 'complaints')
    await applyCampaignHold(ctx)
    await runSteps()
    assert.deepEqual(await state(), ['SENDING', null, 0])
  })

  const SUSPENDED: readonly (readonly [what: string, reason: string, until: number | null, isReplaced: boolean])[] = [
    ['a suspension by the operator', 'complaints', null, false],
    ['one that still lasts', 'complaints', 60_000, false],
    ['one that has expired', 'complaints', -60_000, true],
    ['an earlier hold', 'held back: DNS', null, true],
  ]
  for (const [what, reason, until, isReplaced] of SUSPENDED) {
    it(`${isReplaced ? 'replace' : 'do not replace'} ${what} that a step meets`, async () => {
      await open(COMPLETE)
      const end = until === null ? null : new Date(ctx.clock.now() + until)
      await suspend(ctx, { kind: 'campaign', subject: id }, reason, end)
      await ctx.db.transaction((tx) => holdCampaign(tx, id, 'PTR'))
      const find = 'SELECT reason, until FROM suspensions WHERE kind = $1 AND subject = $2'
      const { rows } = await ctx.db.query(find, ['campaign', id])
      const held = 'held back: PTR'
      assert.deepEqual(rows, [isReplaced ? { reason: held, until: null } : { reason, until: end }])
      assert.deepEqual(await state(), ['SENDING', isReplaced ? held : null, 0])
      await found()
      await applyCampaignHold(ctx)
      assert.strictEqual((await ctx.db.query(find, ['campaign', id])).rows.length, isReplaced ? 0 : 1)
    })
  }
  it('are held back after a suspension that has expired', async () => {
    await open(COMPLETE)
    await suspend(ctx, { kind: 'campaign', subject: id }, 'complaints', new Date(ctx.clock.now() - 60_000))
    await found({ PTR: 'failed' })
    await applyCampaignHold(ctx)
    assert.deepEqual(await state(), ['SENDING', 'held back: PTR: PTR is failed', 0])
  })

  it('go out in spite of findings that hold nothing', async () => {
    await open(COMPLETE)
    await found({ 'EHLO name': 'failed', 'SMTP certificate': 'warning', blocklists: 'unknown' })
    await runSteps()
    assert.deepEqual(await state(), ['SENT', null, 3])
    assert.deepEqual((await readQueueMetrics(ctx)).mailstead_doctor_findings, [
      { labels: ['failed'], value: 1 },
      { labels: ['warning'], value: 1 },
    ])
  })

  const DEAD_LINKS: readonly (readonly [what: string, env: Record<string, string>])[] = [
    ['a URL that is not set', LIVE],
    ['a URL without TLS', { ...LIVE, PUBLIC_URL: 'http://mail.sender.example' }],
    ['tracking links without TLS', { ...COMPLETE, TRACKING_URL: 'http://t.sender.example' }],
    [
      'an installation of an earlier release',
      { MAILSTEAD_HOSTNAME: 'mail.sender.example', DNS_SERVERS: '127.0.0.1:53' },
    ],
  ]
  for (const [what, env] of DEAD_LINKS) {
    it(`never have links to nowhere: ${what}`, async () => {
      await open(env)
      await found()
      await runSteps()
      const [status, reason, messages] = await state()
      assert.match(reason ?? '', /^held back: .*_URL is http/)
      assert.deepEqual([status, messages], ['SENDING', 0])
    })
  }

  const TESTS: readonly (readonly [what: string, env: Record<string, string>])[] = [
    ['in the sandbox', {}],
    ['on a test network', { DNS_SERVERS: '127.0.0.1:53', ALLOW_PRIVATE_TARGETS: '127.0.0.0/8' }],
  ]
  for (const [what, env] of TESTS) {
    it(`may have any links ${what}`, async () => {
      await open(env)
      await runSteps()
      assert.deepEqual(await state(), ['SENT', null, 3])
    })
  }

  it('are released when the installation becomes a sandbox', async () => {
    await open({})
    await found({ PTR: 'failed' })
    await suspend(ctx, { kind: 'campaign', subject: id }, 'held back: PTR')
    await createLiveCheckRound(ctx)()
    await runSteps()
    assert.deepEqual(await state(), ['SENT', null, 3])
    assert.deepEqual((await readQueueMetrics(ctx)).mailstead_doctor_findings, [
      { labels: ['failed'], value: 0 },
      { labels: ['warning'], value: 0 },
    ])
  })
})
