/** After a suspension ends, what it delayed is on the schedule again, and nothing else. */
import { assert } from 'chai'
import { newId } from '#src/platform/id.ts'
import { createAcceptor } from '#src/messages/accept.ts'
import { dueKey, EPOCH_KEY, readyKey, SITES_KEY, suspendedSite } from '#src/queue/keys.ts'
import { resume, resumeExpired, suspend, watchSuspensions, type SuspensionTarget } from '#src/queue/suspensions.ts'
import { TIER_NAMES, type Tier } from '#src/queue/tiers.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { testRecipients, submissionOf } from '#test/support/submission.ts'
import { createResumeRound } from './resume-suspended.ts'

describe('resume suspended', () => {
  let ctx: TestContext
  before(async () => {
    ctx = await createContext()
  })
  after(() => ctx.close())
  beforeEach(async () => {
    await ctx.redis.flushall()
    await ctx.redis.set(EPOCH_KEY, 'the schedule is whole')
    for (const table of ['recipients', 'suspensions', 'let_go', 'domain_sites'])
      await ctx.db.query(`DELETE FROM ${table}`)
    await ctx.db.query(
      sql`
        INSERT INTO domain_sites (domain, site, seen_at)
        VALUES ('a.example', 'mx.one', now()), ('b.example', 'mx.one', now())`,
    )
  })
  afterEach(async () =>
    assert.strictEqual(await ctx.redis.get(EPOCH_KEY), 'the schedule is whole', 'all was scheduled anew'),
  )

  /** Until there is nothing more to do at once. */
  const round = async (): Promise<void> => {
    const loop = createResumeRound(ctx)
    while ((await loop()) === 'more');
  }
  const pass = (): Promise<unknown> => ctx.db.query(`UPDATE let_go SET at = at - interval '10 seconds'`)
  /** As an outbound process keeps it. */
  async function keepAside(domain: string, count: number, tier: Tier = 'bulk'): Promise<void> {
    const members = Array.from(
      { length: count },
      (_, i) => `${newId().replaceAll('-', '')}:${i}:000000000000:${domain}`,
    )
    for (let at = 0; at < count; at += 5000)
      await ctx.redis.zadd(
        readyKey(suspendedSite(domain), tier),
        ...members.slice(at, at + 5000).flatMap((member) => [1, member]),
      )
    await ctx.redis.zadd(SITES_KEY, 1, suspendedSite(domain))
  }
  async function depths(): Promise<Record<string, number>> {
    const due: Record<string, number> = {}
    for (const tier of TIER_NAMES) {
      for (const member of await ctx.redis.zrange(dueKey(tier), '0', '-1')) {
        const name = `${tier} ${member.split(':')[3]}`
        due[name] = (due[name] ?? 0) + 1
      }
    }
    return due
  }

  it('a domain: its mail of all tiers, not that of another suspended domain', async () => {
    for (const domain of ['a.example', 'c.example']) await suspend(ctx, domain, 'asked')
    await keepAside('a.example', 12_000)
    await keepAside('a.example', 3, 'instant')
    await keepAside('c.example', 5)
    assert.strictEqual(await resume(ctx, 'a.example'), true)
    await round()
    assert.deepEqual(await depths(), { 'instant a.example': 3, 'bulk a.example': 12_000 })
    assert.deepEqual(await ctx.redis.zrange(SITES_KEY, '0', '-1'), [suspendedSite('c.example')])
    assert.strictEqual(await resume(ctx, 'a.example'), false)
  })
  const OTHERS: readonly (readonly [
    what: string,
    ended: SuspensionTarget,
    still: SuspensionTarget,
    due: readonly string[],
  ])[] = [
    [
      'a site: all its domains but one that is stopped itself',
      { kind: 'site', subject: 'mx.one' },
      { kind: 'domain', subject: 'b.example' },
      ['bulk a.example', 'bulk c.example'],
    ],
    [
      'all mail: not that of a stopped site',
      { kind: 'domain', subject: '*' },
      { kind: 'site', subject: 'mx.one' },
      ['bulk c.example'],
    ],
    [
      'a domain of a stopped site stays',
      { kind: 'domain', subject: 'a.example' },
      { kind: 'site', subject: 'mx.one' },
      [],
    ],
    [
      'a domain while all mail is stopped stays',
      { kind: 'domain', subject: 'a.example' },
      { kind: 'domain', subject: '*' },
      [],
    ],
  ]
  for (const [what, ended, still, due] of OTHERS) {
    it(what, async () => {
      for (const one of [ended, still]) await suspend(ctx, one, 'asked')
      for (const domain of ['a.example', 'b.example', 'c.example']) await keepAside(domain, 1)
      await resume(ctx, ended)
      await round()
      assert.deepEqual(Object.keys(await depths()), due)
    })
  }
  it('a workspace: its own mail from PostgreSQL, at its due time; also after the suspension expired', async () => {
    const [mine, other] = [await ctx.newWorkspace(), await ctx.newWorkspace()]
    for (const workspaceId of [mine, other])
      await createAcceptor(ctx).accept(submissionOf(workspaceId, { tier: 'high', recipients: testRecipients(30) }))
    await ctx.redis.del(dueKey('high'))
    await suspend(ctx, { kind: 'workspace', subject: mine }, 'asked', new Date(Date.now() + 60_000))
    await ctx.db.query(`UPDATE suspensions SET until = now() - interval '1 second'`)
    assert.strictEqual(await resumeExpired(ctx), 1)
    await round()
    const members = await ctx.redis.zrange(dueKey('high'), '0', '-1')
    assert.deepEqual(
      [members.length, new Set(members.map((member) => member.split(':')[2]))],
      [30, new Set([mine.slice(-12)])],
    )
    assert.deepEqual((await ctx.db.query('SELECT FROM let_go')).rows.length, 0)
  })
  it('mail that a process suspends after the end is found by a later round, and the rounds end', async () => {
    await suspend(ctx, 'a.example', 'asked')
    await resume(ctx, 'a.example')
    await round()
    await keepAside('a.example', 2)
    await round()
    assert.deepEqual(await depths(), { 'bulk a.example': 2 })
    assert.strictEqual((await ctx.db.query('SELECT FROM let_go')).rows.length, 1)
    await pass()
    await round()
    assert.strictEqual((await ctx.db.query('SELECT FROM let_go')).rows.length, 0)
  })
  it('mail suspended by a process that learns of the end long after all others', async () => {
    await suspend(ctx, 'a.example', 'asked')
    const watch = await watchSuspensions(ctx)
    await resume(ctx, 'a.example')
    await pass()
    await round()
    assert.strictEqual(watch.find('a.example'), 'asked', 'it has not heard')
    await keepAside('a.example', 2)
    await round()
    assert.deepEqual(await depths(), {})
    await watch.refresh()
    await round()
    assert.deepEqual([watch.find('a.example'), await depths()], [undefined, { 'bulk a.example': 2 }])
    watch.stop()
  })
  it('instant mail does not wait for a large earlier release', async () => {
    for (const domain of ['a.example', 'c.example']) await suspend(ctx, domain, 'asked')
    await keepAside('a.example', 150_000)
    await keepAside('c.example', 7, 'instant')
    await resume(ctx, 'a.example')
    const loop = createResumeRound(ctx)
    await loop()
    await resume(ctx, 'c.example')
    const isMore = (await loop()) === 'more'
    const [instant, bulk] = await Promise.all(
      (['instant', 'bulk'] as const).map((tier) => ctx.redis.zcard(dueKey(tier))),
    )
    assert.strictEqual(instant, 7)
    assert.ok(isMore || bulk === 150_000, 'it says when it is done')
    while ((await loop()) === 'more');
    assert.strictEqual(await ctx.redis.zcard(dueKey('bulk')), 150_000)
  })
  it('a workspace with much mail is processed in parts, to its end', async () => {
    const mine = await ctx.newWorkspace()
    const acceptor = createAcceptor(ctx)
    await Promise.all(
      Array.from({ length: 240 }, () =>
        acceptor.accept(submissionOf(mine, { tier: 'bulk', recipients: testRecipients(50) })),
      ),
    )
    await ctx.redis.del(dueKey('bulk'))
    await suspend(ctx, { kind: 'workspace', subject: mine }, 'asked')
    await resume(ctx, { kind: 'workspace', subject: mine })
    await round()
    assert.strictEqual(await ctx.redis.zcard(dueKey('bulk')), 12_000)
  })
  it('two workers and a Redis outage: all mail is scheduled in the end', async () => {
    await suspend(ctx, 'a.example', 'asked')
    await keepAside('a.example', 11_000)
    const away = createResumeRound({
      ...ctx,
      redis: { zrange: () => Promise.reject(new Error('away')) } as unknown as typeof ctx.redis,
    })
    await resume(ctx, 'a.example')
    await assert.isRejected(away())
    await Promise.all([round(), round()])
    assert.deepEqual(await depths(), { 'bulk a.example': 11_000 })
  })
})
