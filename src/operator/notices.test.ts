/** Notices: one row for each problem, however often it is reported, until it is acknowledged. */
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { assert } from 'chai'
import { createNoticeRound } from '#worker/notices.ts'
import { suspend, RATE_PAUSE_PREFIX } from '#src/queue/suspensions.ts'
import { ensurePartitions } from '#src/stores/partitions.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { createNoticeBuffer } from './notice-buffer.ts'
import {
  acknowledgeNotices,
  clearOldNotices,
  countNotices,
  listNotices,
  NOTICE_KINDS,
  raiseNotices,
  type NewNotice,
} from './notices.ts'

const noticeOf = (part: Partial<NewNotice> = {}): NewNotice => ({
  kind: 'reply',
  subject: 'gmail not-allowed',
  text: '550 no',
  count: 1,
  at: new Date('2026-01-02T03:04:05Z'),
  ...part,
})

/** Others are conditions that the worker finds. */
const RAISED_BY_PROCESSES: ReadonlySet<string> = new Set([
  'clock-skew',
  'reply',
  'operator-token-refused',
  'subscribe-stopped',
])

describe('notices', () => {
  let ctx: TestContext
  before(async () => {
    ctx = await createContext()
  })
  after(() => ctx.close())
  beforeEach(() => ctx.db.query('DELETE FROM operator_notices'))

  const open = async (): Promise<readonly unknown[][]> =>
    (await listNotices(ctx.db, { all: false, limit: 100 })).items.map(({ kind, subject, text, count }) => [
      kind,
      subject,
      text,
      count,
    ])
  const acknowledge = (id: string | null): Promise<number> =>
    acknowledgeNotices(ctx.db, { id, by: 'me', now: new Date(ctx.clock.now()) })

  it('a repeated notice is one row with a count and the last text; a condition is counted once', async () => {
    await raiseNotices(ctx.db, 'stands', [noticeOf(), noticeOf({ subject: 'other' })])
    await raiseNotices(ctx.db, 'stands', [
      noticeOf({ text: '550 still no', count: 4, at: new Date('2026-01-02T03:05:00Z') }),
    ])
    for (let i = 0; i < 3; i++) await raiseNotices(ctx.db, 'stands', [noticeOf({ text: 'late', count: 9 })])
    assert.deepEqual(await open(), [
      ['reply', 'gmail not-allowed', '550 still no', 5],
      ['reply', 'other', '550 no', 1],
    ])
  })
  it('occurrences are counted in any order of reports, with the last text', async () => {
    const at = (i: number): Date => new Date(Date.UTC(2026, 0, 1) + i)
    await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        raiseNotices(ctx.db, 'happened', [
          noticeOf({ subject: 'b', at: at(19 - i), text: `${19 - i}` }),
          noticeOf({ subject: 'a', at: at(i), text: `${i}` }),
        ]),
      ),
    )
    assert.deepEqual(new Set((await open()).map((row) => row.join(' '))), new Set(['reply a 19 20', 'reply b 19 20']))
    await acknowledge(null)
    await raiseNotices(ctx.db, 'happened', [noticeOf({ subject: 'a', at: at(5) })])
    assert.deepEqual(await open(), [], 'that was before')
  })
  it('an acknowledged notice is hidden; a later occurrence is a new notice', async () => {
    await raiseNotices(ctx.db, 'stands', [noticeOf(), noticeOf({ subject: 'other' })])
    const [one] = (await listNotices(ctx.db, { all: false, limit: 1 })).items
    assert.strictEqual(await acknowledge(one?.id ?? ''), 1)
    assert.strictEqual(await acknowledge(one?.id ?? ''), 0)
    await raiseNotices(ctx.db, 'stands', [noticeOf(), noticeOf({ subject: 'other' })])
    assert.strictEqual((await open()).length, 1)
    await acknowledge(null)
    await raiseNotices(ctx.db, 'stands', [noticeOf({ at: new Date() })])
    assert.deepEqual(await open(), [['reply', 'gmail not-allowed', '550 no', 1]])
    assert.strictEqual((await listNotices(ctx.db, { all: true, limit: 10 })).items.length, 3)
    assert.deepEqual([...(await countNotices(ctx.db))], [['reply', 1]])
  })
  it('third-party texts are truncated and never rejected', async () => {
    await raiseNotices(ctx.db, 'stands', [
      noticeOf({ subject: 'x'.repeat(5000), text: `\0\ud800\u001b[31m<b>${'y'.repeat(100_000)}` }),
    ])
    const [[, subject, text] = []] = await open()
    assert.deepEqual([String(subject).length, String(text).length], [300, 1000])
  })
  it('many equal notices are one row; the number of subjects is limited', async () => {
    const book = createNoticeBuffer(ctx)
    for (let i = 0; i < 100_000; i++) book.raise({ kind: 'reply', subject: 'gmail not-allowed', text: `550 no ${i}` })
    for (let i = 0; i < 5000; i++) book.raise({ kind: 'reply', subject: `site ${i}`, text: '550 no' })
    await book.stop()
    const { items: rows } = await listNotices(ctx.db, { all: false, limit: 2000 })
    assert.strictEqual(rows.length, 1000)
    assert.deepEqual(
      rows.filter(({ count }) => count > 1).map(({ text, count }) => [text, count]),
      [['550 no 99999', 100_000]],
    )
  })
  it('the buffer retries what PostgreSQL rejects', async () => {
    let isAway = true
    const db = {
      ...ctx.db,
      query: (async (...args: Parameters<typeof ctx.db.query>) => {
        if (isAway) throw new Error('away')
        return ctx.db.query(...args)
      }) as typeof ctx.db.query,
    }
    const book = createNoticeBuffer({ ...ctx, db })
    book.raise({ kind: 'reply', subject: 's', text: 't' })
    await book.stop()
    assert.deepEqual(await open(), [])
    isAway = false
    book.raise({ kind: 'reply', subject: 's', text: 't' })
    await book.stop()
    assert.deepEqual(await open(), [['reply', 's', 't', 2]])
  })
  it('stored conditions become notices once, with any number of workers', async () => {
    const workspaceId = await ctx.newWorkspace()
    await suspend(ctx, { kind: 'workspace', subject: workspaceId }, `${RATE_PAUSE_PREFIX}12 % bounced`)
    await suspend(ctx, 'asked.example', 'the operator wanted it')
    await ctx.db.query(sql`
      INSERT INTO receiver_suspensions (id, pace, source, rule, reply, until)
      VALUES (gen_random_uuid(), 'yahoo', 'system', 'ts04', '421 4.7.0 [TS04]', now() + interval '2 hours')
    `)
    await ctx.db.query(sql`
      WITH s AS (
        INSERT INTO egress_sources (id, name, address, ehlo_name, region, gone_since, machine, check_due_at, created_at)
        VALUES (gen_random_uuid(), 'one', '192.0.2.1', 'one.example', 'eu', now(), 'm', now(), now())
        RETURNING id
      )
      INSERT INTO egress_checks (source_id, name, status, detail, todo, since, checked_at)
      SELECT id, 'blocklists', 'failed', 'listed by x', 'ask x', now(), now()
      FROM s
    `)
    await ctx.db.query(
      sql`
        INSERT INTO held_suppressions (workspace_id, address, hold, receiver, cause, rule, held_at)
        SELECT $1, 'a' || i, 'outage', 'full.example', 'c', 'r', now()
        FROM generate_series(1, 7) i
      `,
      [workspaceId],
    )
    await ctx.db.query(
      sql`
        WITH d AS (
          INSERT INTO domains (id, workspace_id, domain, region, verification_status)
          VALUES (gen_random_uuid(), $1, 'old-key.example', 'us-east-1', 'verified')
          RETURNING id
        )
        INSERT INTO dkim_keys (id, domain_id, selector, algorithm, private_key, dns_value, state, state_since)
        SELECT gen_random_uuid(), id, 's', 'rsa-sha256', '', 'v=DKIM1', 'active', now() - interval '200 days'
        FROM d
      `,
      [workspaceId],
    )
    await ctx.db.query(sql`
      INSERT INTO dkim_zone_records (name, value, changed_at)
      VALUES ('a.1.keys.example', 'v=DKIM1', now() - interval '1 hour')
    `)
    await ensurePartitions((statement) => ctx.db.query(statement), Date.now() - 500 * 86_400_000)
    await ctx.db.query(sql`
      INSERT INTO certificates (id, use, name, origin, failures, failing_since, last_error)
      VALUES (gen_random_uuid(), 'web', 'app.example', 'settings', 2, now(), 'DNS problem'),
        (gen_random_uuid(), 'web', 'once.example', 'settings', 1, now(), 'DNS problem')
    `)
    await ctx.db.query(sql`
      WITH n AS (
        INSERT INTO nodes (name)
        VALUES ('mail-1')
      ), p AS (
        INSERT INTO node_processes (id, node, roles, version, sources, is_drained)
        VALUES (gen_random_uuid(), 'mail-1', '{outbound}', '1', '{other}', true)
      ), pool AS (
        INSERT INTO egress_pools (name, created_at)
        VALUES ('us-east', now())
        ON CONFLICT DO NOTHING
      )
      SELECT
    `)
    await ctx.db.query(sql`
      INSERT INTO egress_members (pool, source_id, weight)
      SELECT 'us-east', id, 1
      FROM egress_sources
    `)
    await ctx.db.query('UPDATE restore_fence SET detected_at = now(), lost_until = now()')
    const config = { ...ctx.config, isSandbox: false, isLive: true, publicUrl: 'http://localhost' }
    const round = createNoticeRound({ ...ctx, config })
    const starting = await ctx.db.query<{ id: string }>(sql`
      INSERT INTO node_processes (id, node, roles, version, sources, is_drained)
      VALUES (gen_random_uuid(), 'mail-1', '{outbound}', '1', '{}', false)
      RETURNING id
    `)
    await round()
    assert.notInclude(
      (await open()).map(([kind]) => kind),
      'no-node-source',
      'a process that starts has not read its sources yet',
    )
    await ctx.db.query('DELETE FROM node_processes WHERE id = $1', [starting.rows[0]?.id])
    await Promise.all([round(), round()])
    await round()
    const told = await open()
    assert.deepEqual(
      new Set(told.map(([kind, subject, , count]) => `${String(kind)} ${String(subject)} ${String(count)}`)),
      new Set([
        'blocklisted one 1',
        'certificate-failing app.example (web) 1',
        'database-older PostgreSQL 1',
        'dkim-key keys published by hand 1',
        'dkim-zone DKIM_ZONE 1',
        `dead-links worker on ${hostname()} 1`,
        'no-node-source us-east 1',
        'outage full.example 7',
        'receiver-suspended yahoo by system 1',
        'retention-overdue bodies 1',
        'retention-overdue events 1',
        'retention-overdue messages 1',
        'source-gone one 1',
        `workspace-paused ${workspaceId} 1`,
      ]),
    )
    assert.strictEqual(told.length, 14)
    const page = readFileSync('docs/guides/operations.md', 'utf8')
    for (const [kind, what] of Object.entries(NOTICE_KINDS))
      assert.ok(page.includes(`| \`${kind}\` | ${what}`), `${kind} in docs/guides/operations.md`)
    assert.deepEqual(
      Object.keys(NOTICE_KINDS).filter(
        (kind) => !RAISED_BY_PROCESSES.has(kind) && !told.some(([name]) => name === kind),
      ),
      [],
    )
    await acknowledge(null)
    await round()
    assert.deepEqual(await open(), [], 'what was acknowledged is not told again')
  })
  it('old notices are deleted, and the oldest when there are too many', async () => {
    await raiseNotices(ctx.db, 'stands', [
      noticeOf({ at: new Date(Date.now() - 91 * 86_400_000) }),
      noticeOf({ subject: 'new', at: new Date() }),
    ])
    await ctx.db.query(sql`
      INSERT INTO operator_notices
      SELECT gen_random_uuid(), 'reply', 'f' || i, 't', 1, now(), now()
      FROM generate_series(1, 12000) i
    `)
    await clearOldNotices(ctx.db, new Date())
    const {
      rows: [row],
    } = await ctx.db.query<{ count: number; old: number }>(sql`
      SELECT count(*) AS count, count(*) FILTER (WHERE last_seen < now() - interval '1 day') AS old
      FROM operator_notices
    `)
    assert.deepEqual(row, { count: 10_000, old: 0 })
  })
})
