import { createHash } from 'node:crypto'
import { assert } from 'chai'
import type { Db } from '#src/stores/db.ts'
import { migrate, undoMigrations } from '#src/stores/migrate.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { submissionOf } from '#test/support/submission.ts'
import { createAcceptor } from './accept.ts'
import { createBodyCompressor } from './body-compression.ts'
import { bodiesOf, claimRecipients, type ClaimedRecipient, loadBodies } from './claim.ts'
import { findStoredContent } from './stored-content.ts'
import type { Submission } from './submission.ts'

const HTML = `<p>Grüße 📬</p>${'<td style="padding:0">1</td>'.repeat(600)}`
const TEXT = 'Hello Ada'
const RAW = Buffer.concat([
  Buffer.from(`Subject: x\r\n\r\n${'A line of a mail.\r\n'.repeat(900)}`),
  Buffer.alloc(99, 0xe4),
])

describe('compressed bodies', () => {
  let ctx: TestContext
  let workspaceId: string
  beforeEach(async () => {
    ctx = await createContext()
    workspaceId = await ctx.newWorkspace()
  })
  afterEach(() => ctx.close())

  const accept = async (fields: Partial<Submission>): Promise<string> => {
    const submission = submissionOf(workspaceId, fields)
    assert.strictEqual((await createAcceptor(ctx).accept(submission)).kind, 'stored')
    return submission.id
  }
  const claim = async (messageId: string): Promise<ClaimedRecipient['content']> => {
    const { rows } = await ctx.db.query<{ id: number }>(
      sql`
        INSERT INTO leases (version, machine, pid, expires_at)
        VALUES ('0.2.0', 'test', 1, now() + interval '1 hour')
        RETURNING id`,
    )
    const [claimed] = await claimRecipients(ctx.db, rows[0]?.id ?? 0, [{ messageId, n: 0 }], new Date())
    return claimed?.content ?? assert.fail('was not claimed')
  }
  /** The columns of the body that are not null. */
  const storedIn = async (id: string): Promise<string[]> => {
    const { rows } = await ctx.db.query<Record<string, unknown>>('SELECT * FROM message_bodies WHERE message_id = $1', [
      id,
    ])
    const row = Object.entries(rows[0] ?? assert.fail('it has no body'))
    return row.flatMap(([name, value]) => (value === null || name === 'message_id' ? [] : [name]))
  }
  const damage = (id: string): Promise<unknown> =>
    ctx.db.query(
      `UPDATE message_bodies SET compressed = overlay(compressed PLACING '\\x00' FROM 50) WHERE message_id = $1`,
      [id],
    )
  const MAILS: readonly [what: string, fields: Partial<Submission>, body: Awaited<ReturnType<typeof loadBodies>>][] = [
    ['a mail with HTML and text', { html: HTML, text: TEXT }, { html: HTML, text: TEXT, raw: null, isBodyGone: false }],
    [
      'HTML that was given as octets',
      { html: Buffer.from(HTML), text: null },
      { html: HTML, text: null, raw: null, isBodyGone: false },
    ],
    [
      'a mail that was submitted complete',
      { text: null, smtp: { raw: RAW, envelope: { from: 'a@sender.example' } } },
      { html: null, text: null, raw: RAW, isBodyGone: false },
    ],
  ]
  for (const [what, fields, body] of MAILS)
    it(`${what} is sent and shown as it was accepted`, async () => {
      const id = await accept(fields)
      assert.deepEqual(await storedIn(id), ['compressed'])
      assert.deepEqual(bodiesOf(await claim(id)), body)
      assert.deepEqual(await loadBodies(ctx.db, id), body)
      const found = await findStoredContent(ctx.db, workspaceId, id)
      assert.isTrue(found?.kind === 'content' && found.isStored && found.row.html === body.html)
    })

  it('are stored with large files, which are loaded apart', async () => {
    const file = { filename: 'a.pdf', contentType: 'application/pdf', contentId: null, content: Buffer.alloc(200_000) }
    const id = await accept({ html: HTML, attachments: [file] })
    assert.deepEqual(await storedIn(id), ['compressed'])
    assert.isTrue((await claim(id)).isLarge)
    assert.strictEqual((await loadBodies(ctx.db, id)).html, HTML)
  })

  it('are stored step by step, too, beside a mail over its quota', async () => {
    const acceptor = createAcceptor(ctx)
    const mails = [1, 1].map(() => submissionOf(workspaceId, { html: HTML, text: null, quota: 1 }))
    const results = await Promise.all(mails.map((mail) => acceptor.accept(mail)))
    assert.sameMembers(
      results.map(({ kind }) => kind),
      ['stored', 'over-quota'],
    )
    const [stored] = mails.filter((_, i) => results[i]?.kind === 'stored')
    assert.deepEqual(await storedIn(stored?.id ?? ''), ['compressed'])
  })

  it('a damaged one is not sent, and does not stop others', async () => {
    const [damaged, other] = [await accept({ html: HTML }), await accept({ html: HTML })]
    await damage(damaged)
    assert.deepEqual(bodiesOf(await claim(damaged)), { html: null, text: null, raw: null, isBodyGone: true })
    assert.isTrue((await loadBodies(ctx.db, damaged)).isBodyGone)
    assert.strictEqual(bodiesOf(await claim(other)).html, HTML)
  })

  it('are not stored while an earlier version may read them, and are from a minute after it has ended', async () => {
    let now = Date.now()
    const clock = { ...ctx.clock, now: () => now }
    const compress = createBodyCompressor({ db: ctx.db, clock })
    const isCompressed = async (): Promise<boolean> =>
      ((await compress(submissionOf(workspaceId, { html: HTML }))).compressed ?? null) !== null
    await ctx.db.query('UPDATE body_storage SET apart_since = NULL')
    assert.isFalse(await isCompressed())
    assert.deepEqual(await storedInMessages(await accept({ html: HTML })), HTML)
    await ctx.db.query('UPDATE body_storage SET apart_since = now()')
    assert.isFalse(await isCompressed())
    now += 60_000
    assert.isTrue(await isCompressed())
  })
  const storedInMessages = async (id: string): Promise<string | null> =>
    (await ctx.db.query<{ html: string | null }>('SELECT html FROM messages WHERE id = $1', [id])).rows[0]?.html ?? null

  it('are left as they are while PostgreSQL does not answer, and are asked for again', async () => {
    let isAway = true
    const db = {
      query: (...given: Parameters<Db['query']>) =>
        isAway ? Promise.reject(new Error('away')) : ctx.db.query(...given),
    } as Db
    const compress = createBodyCompressor({ db, clock: ctx.clock })
    const submission = submissionOf(workspaceId, { html: HTML })
    assert.strictEqual(await compress(submission), submission)
    isAway = false
    assert.isNotNull((await compress(submission)).compressed ?? null)
  })

  it('become columns again when the migration is undone, and nothing is lost', async () => {
    const ids: string[] = []
    for (const [, fields] of MAILS) ids.push(await accept(fields))
    const damaged = await accept({ html: HTML })
    await damage(damaged)
    await undoMigrations(ctx.databaseUrl, '103-content-compression.ts')
    const { rows } = await ctx.db.query<{ html: string | null; text: string | null; raw: Buffer | null }>(
      'SELECT html, body_text AS text, raw FROM message_bodies WHERE message_id = ANY ($1::uuid[]) ORDER BY message_id',
      [ids],
    )
    assert.lengthOf((await ctx.db.query('SELECT FROM message_bodies WHERE message_id = $1', [damaged])).rows, 0)
    const hash = (raw: Buffer | null): string | null => raw && createHash('sha256').update(raw).digest('hex')
    assert.deepEqual(
      rows.map(({ html, text, raw }) => [html, text, hash(raw)]),
      MAILS.map(([, , { html, text, raw }]) => [html, text, hash(raw)]),
    )
    await migrate(ctx.databaseUrl)
    assert.deepEqual(await storedIn(await accept({ html: HTML })), ['compressed'])
  })

  it('have no statistics in any partition, which would take long to collect', async () => {
    const { rows } = await ctx.db.query<{ targets: string[] }>(
      sql`
        SELECT ARRAY(
          SELECT DISTINCT a.attname || ' ' || a.attstattarget
          FROM pg_partition_tree('message_bodies') AS part
          JOIN pg_attribute a ON a.attrelid = part.relid AND a.attnum > 0 AND NOT a.attisdropped
          ORDER BY 1
        ) AS targets`,
    )
    assert.deepEqual(rows[0]?.targets, ['body_text 0', 'compressed 0', 'html 0', 'message_id 10', 'raw 0'])
  })
})
