import { randomBytes } from 'node:crypto'
import { assert, expect } from 'chai'
import { isDatabaseAway, openDb, type Db } from '#src/stores/db.ts'
import { newId } from '#src/platform/id.ts'
import { dueKey } from '#src/queue/keys.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { testRecipients, submissionOf } from '#test/support/submission.ts'
import { createAcceptor } from './accept.ts'
import { readMessage } from './read.ts'
import type { AcceptResult } from './submission.ts'

describe('accept', () => {
  let ctx: TestContext
  let workspace: string
  /** The connections of another process. */
  let second: Db | undefined
  before(async () => {
    ctx = await createContext()
  })
  after(async () => {
    await second?.close()
    await ctx.close()
  })
  beforeEach(async () => {
    workspace = await ctx.newWorkspace()
  })

  const kinds = (results: readonly AcceptResult[]): Record<string, number> =>
    Object.fromEntries(
      Object.entries(Object.groupBy(results, ({ kind }) => kind)).map(([kind, list]) => [kind, list?.length ?? 0]),
    )

  it('stores, numbers the first events, and schedules by tier', async () => {
    const submission = submissionOf(workspace, {
      recipients: testRecipients(3),
      tags: ['a', 'b,c "d"'],
      metadata: { order: 7, ключ: null },
      html: '<p>Zażółć "gęślą" \\ jaźń {} 🎉</p>',
      tier: 'high',
    })
    assert.deepEqual(await createAcceptor(ctx).accept(submission), { kind: 'stored', quotaUsed: 3 })
    const message = await readMessage(ctx.db, workspace, submission.id)
    assert.strictEqual(message?.status, 'queued')
    assert.deepEqual(message?.tags, ['a', 'b,c "d"'])
    assert.deepEqual(message?.metadata, { order: 7, ключ: null })
    assert.deepEqual(
      message?.events.map(({ type, sequence }) => [type, sequence]),
      [
        ['email.queued', 1],
        ['email.queued', 2],
        ['email.queued', 3],
      ],
    )
    const {
      rows: [row],
    } = await ctx.db.query<{ html: string }>('SELECT html FROM message_bodies WHERE message_id = $1', [submission.id])
    assert.strictEqual(row?.html, submission.html)
    assert.strictEqual(await ctx.redis.zcard(dueKey('high')), 3)
  })

  it('a message is visible only in its workspace', async () => {
    const submission = submissionOf(workspace)
    await createAcceptor(ctx).accept(submission)
    assert.strictEqual(await readMessage(ctx.db, await ctx.newWorkspace(), submission.id), null)
  })

  it('sends nothing to a suppressed address and says why', async () => {
    await ctx.db.query(
      `INSERT INTO suppressions (workspace_id, address, cause) VALUES ($1, 'r1@receiver.example', 'hard bounce 5.1.1')`,
      [workspace],
    )
    const recipients = testRecipients(2).map((one) => ({ ...one, address: one.address.replace('r1', 'R1') }))
    const submission = submissionOf(workspace, { recipients })
    await createAcceptor(ctx).accept(submission)
    const message = await readMessage(ctx.db, workspace, submission.id)
    assert.deepEqual(
      message?.recipients.map(({ state }) => state),
      ['queued', 'suppressed'],
    )
    assert.deepEqual(
      message?.events.map(({ type, data }) => [type, data]),
      [
        ['email.queued', null],
        ['email.failed', { reason: 'suppressed', cause: 'hard bounce 5.1.1', cause_kind: 'manual' }],
      ],
    )
    assert.strictEqual(
      await ctx.redis.zscore(dueKey('normal'), `${submission.id.replaceAll('-', '')}:1:receiver.example`),
      null,
    )
  })

  it('shares commits: many concurrent calls, few transactions, all stored', async () => {
    const acceptor = createAcceptor(ctx)
    const submissions = Array.from({ length: 500 }, () => submissionOf(workspace))
    assert.deepEqual(kinds(await Promise.all(submissions.map((one) => acceptor.accept(one)))), { stored: 500 })
    assert.ok(acceptor.batches.count < 50, `${acceptor.batches.count} transactions`)
    const { rows } = await ctx.db.query<{ count: number }>('SELECT count(*) FROM messages WHERE workspace_id = $1', [
      workspace,
    ])
    assert.strictEqual(rows[0]?.count, 500)
  })

  describe('with an idempotency key', () => {
    const keyed = (key: string, body: string): ReturnType<typeof submissionOf> =>
      submissionOf(workspace, { idempotency: { key, bodyHash: Buffer.from(body), answer: `answer to ${body}` } })

    it('stores one of fifty parallel duplicates in two processes', async () => {
      const acceptors = [
        createAcceptor(ctx),
        createAcceptor({ ...ctx, db: (second ??= openDb(ctx.databaseUrl, ctx.log, 2)) }),
      ]
      const results = await Promise.all(
        Array.from({ length: 50 }, (_, i) => acceptors[i % 2]?.accept(keyed('k', 'body')) ?? assert.fail()),
      )
      assert.strictEqual(kinds(results)['stored'], 1)
      assert.ok(results.every(({ kind }) => kind === 'stored' || kind === 'in-progress' || kind === 'replayed'))
      assert.deepEqual(await acceptors[0]?.accept(keyed('k', 'body')), { kind: 'replayed', answer: 'answer to body' })
      const { rows } = await ctx.db.query<{ count: number }>('SELECT count(*) FROM messages WHERE workspace_id = $1', [
        workspace,
      ])
      assert.strictEqual(rows[0]?.count, 1)
    })
    it('rejects another body; the key expires after 24 hours', async () => {
      const acceptor = createAcceptor(ctx)
      await acceptor.accept(keyed('k', 'one'))
      assert.deepEqual(await acceptor.accept(keyed('k', 'two')), { kind: 'mismatch' })
      const later = { ...keyed('k', 'two'), createdAt: new Date(Date.now() + 25 * 3600_000), id: newId() }
      assert.strictEqual((await acceptor.accept(later)).kind, 'stored')
    })
    it('belongs to its workspace', async () => {
      const acceptor = createAcceptor(ctx)
      await acceptor.accept(keyed('k', 'one'))
      const elsewhere = { ...keyed('k', 'two'), workspaceId: await ctx.newWorkspace() }
      assert.strictEqual((await acceptor.accept(elsewhere)).kind, 'stored')
    })
    it('is released when its message is rejected', async () => {
      const acceptor = createAcceptor(ctx)
      assert.deepEqual(await acceptor.accept({ ...keyed('q', 'one'), quota: 0 }), {
        kind: 'over-quota',
        quotaUsed: 0,
      })
      assert.deepEqual(await acceptor.accept({ ...keyed('q', 'one'), quota: 1 }), { kind: 'stored', quotaUsed: 1 })
    })
  })

  it('counts a quota exactly under fifty parallel senders in two processes', async () => {
    const acceptors = [
      createAcceptor(ctx),
      createAcceptor({ ...ctx, db: (second ??= openDb(ctx.databaseUrl, ctx.log, 2)) }),
    ]
    const results = await Promise.all(
      Array.from(
        { length: 50 },
        (_, i) =>
          acceptors[i % 2]?.accept(submissionOf(workspace, { quota: 33, recipients: testRecipients(2) })) ??
          assert.fail(),
      ),
    )
    assert.deepEqual(kinds(results), { stored: 16, 'over-quota': 34 })
    const { rows } = await ctx.db.query<{ used: number }>('SELECT used FROM usage WHERE workspace_id = $1', [workspace])
    assert.strictEqual(rows[0]?.used, 32)
  })

  it('stores the other messages of a batch when one is rejected, and nothing of that one', async () => {
    const acceptor = createAcceptor(ctx)
    const other = await ctx.newWorkspace()
    const twin = submissionOf(workspace, { idempotency: { key: 'k', bodyHash: Buffer.from('b'), answer: 'first' } })
    await acceptor.accept(twin)
    const together = [
      submissionOf(other, { quota: 2 }),
      { ...twin, id: newId() },
      submissionOf(other, { quota: 2, recipients: testRecipients(2) }),
      submissionOf(workspace),
    ]
    const results = await Promise.all(together.map((one) => acceptor.accept(one)))
    assert.deepEqual(
      results.map(({ kind }) => kind),
      ['stored', 'replayed', 'over-quota', 'stored'],
    )
    for (const table of ['messages', 'recipients', 'events']) {
      const {
        rows: [row],
      } = await ctx.db.query<{ n: number }>(`SELECT count(*) AS n FROM ${table} WHERE workspace_id = ANY ($1)`, [
        [workspace, other],
      ])
      assert.strictEqual(row?.n, 3, table)
    }
    const { rows } = await ctx.db.query<{ used: number }>(
      'SELECT used FROM usage WHERE workspace_id = ANY ($1) ORDER BY used',
      [[workspace, other]],
    )
    assert.deepEqual(
      rows.map(({ used }) => used),
      [1, 2],
    )
  })

  it('stores every field of a message', async () => {
    const full = submissionOf(workspace, {
      from: { email: 'shop@sender.example', name: 'Żółw "x" \\' },
      replyTo: { email: 'r@sender.example', name: null },
      cc: [{ email: 'c@receiver.example', name: 'C' }],
      headers: [['X-A', 'b']],
      tags: ['t'],
      metadata: { a: null, b: 1 },
      trackOpens: false,
      trackClicks: true,
      timezone: 'Asia/Tokyo',
      scheduledAt: new Date('2031-05-04T10:00:00.123Z'),
      expiresAt: new Date('2031-06-01T00:00:00Z'),
      html: '<p>x</p>',
    })
    const bare = submissionOf(workspace)
    await Promise.all([full, bare].map((one) => createAcceptor(ctx).accept(one)))
    const { rows } = await ctx.db.query(
      sql`
        SELECT from_name, reply_to, cc_list, headers, tags, metadata, has_attachments, track_opens, track_clicks,
          scheduled_at, timezone, expires_at
        FROM messages
        WHERE workspace_id = $1
        ORDER BY id
      `,
      [workspace],
    )
    assert.deepEqual(
      { ...rows[0] },
      {
        from_name: full.from.name,
        reply_to: full.replyTo,
        cc_list: full.cc,
        headers: full.headers,
        tags: full.tags,
        metadata: full.metadata,
        has_attachments: false,
        track_opens: false,
        track_clicks: true,
        scheduled_at: full.scheduledAt,
        timezone: full.timezone,
        expires_at: full.expiresAt,
      },
    )
    assert.deepEqual(
      Object.entries(rows[1] ?? {}).filter(([, value]) => value !== null),
      [['has_attachments', false]],
    )
  })

  it('rejects while PostgreSQL is unavailable', async () => {
    const away = openDb('postgres://nobody@127.0.0.1:1/none', ctx.log, 1)
    await expect(
      createAcceptor({ ...ctx, db: away }).accept(submissionOf(workspace)),
    ).to.be.rejected.and.eventually.satisfy(isDatabaseAway)
    await away.close()
  })

  it('accepts while Redis is unavailable', async () => {
    const lonely = await createContext()
    try {
      await lonely.redisServer.crash()
      const submission = submissionOf(await lonely.newWorkspace(), {
        metadata: { random: randomBytes(8).toString('hex') },
      })
      assert.strictEqual((await createAcceptor(lonely).accept(submission)).kind, 'stored')
    } finally {
      await lonely.close()
    }
  })
})
