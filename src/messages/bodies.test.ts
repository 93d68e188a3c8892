import { assert } from 'chai'
import { migrate, undoMigrations } from '#src/stores/migrate.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { administer } from '#test/support/older-database.ts'
import { createEmptyDatabase } from '#test/support/stores.ts'
import { submissionOf } from '#test/support/submission.ts'
import { claimRecipients, type ClaimedRecipient, loadBodies } from './claim.ts'
import { storeMessages } from './message-store.ts'
import { findStoredContent } from './stored-content.ts'
import type { Submission } from './submission.ts'

describe('bodies of messages', () => {
  let ctx: TestContext
  beforeEach(async () => {
    ctx = await createContext()
  })
  afterEach(() => ctx.close())

  const store = async (fields: Partial<Submission> = { html: '<p>Hi</p>', text: 'Hi' }): Promise<string> => {
    const submission = submissionOf(await ctx.newWorkspace(), fields)
    await ctx.db.transaction((tx) => storeMessages(tx, [submission]))
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
  /** Until the contract migration, while processes of an earlier version may run. */
  const asBefore = (): Promise<unknown> => ctx.db.query('UPDATE body_storage SET apart_since = NULL')
  const asNow = (): Promise<unknown> => ctx.db.query('UPDATE body_storage SET apart_since = now()')
  const inMessages = async (id: string): Promise<unknown> => {
    const { rows } = await ctx.db.query('SELECT html, body_text, has_body_row FROM messages WHERE id = $1', [id])
    return Object.values(rows[0] ?? {})
  }
  const bodyRows = async (): Promise<number> => (await ctx.db.query('SELECT FROM message_bodies')).rows.length

  it('are stored apart from the messages', async () => {
    const id = await store()
    assert.deepEqual(await inMessages(id), [null, null, true])
    const { html, text, isBodyGone } = await claim(id)
    assert.deepEqual([html, text, isBodyGone], ['<p>Hi</p>', 'Hi', false])
  })

  it('are compressed with lz4 in every partition, or not at all by a server without it', async () => {
    await store({ html: '<p>Hi</p>'.repeat(10_000) })
    const { rows } = await ctx.db.query<{ hasLz4: boolean; compression: string | null; kinds: string[] }>(
      sql`
        SELECT 'lz4' = ANY (s.enumvals) AS "hasLz4", pg_column_compression(b.html) AS compression,
          ARRAY(
            SELECT DISTINCT concat(a.attstorage, a.attcompression)
            FROM unnest(ARRAY['message_bodies', 'attachments']) AS tables (name)
            CROSS JOIN pg_partition_tree(tables.name::regclass) AS part
            JOIN pg_attribute a ON a.attrelid = part.relid AND a.attname IN ('html', 'body_text', 'content')
          ) AS kinds
        FROM message_bodies b
        CROSS JOIN pg_settings s
        WHERE s.name = 'default_toast_compression'`,
    )
    const { hasLz4, ...found } = rows[0] ?? assert.fail('nothing is stored')
    const expected = hasLz4 ? { compression: 'lz4', kinds: ['xl'] } : { compression: null, kinds: ['e'] }
    assert.deepEqual(found, expected)
  })

  it('are stored in the messages while an earlier version may send them, and are found there later', async () => {
    await asBefore()
    const id = await store()
    assert.deepEqual([await inMessages(id), await bodyRows()], [['<p>Hi</p>', 'Hi', false], 0])
    await asNow()
    const { html, text, isBodyGone } = await claim(id)
    assert.deepEqual([html, text, isBodyGone], ['<p>Hi</p>', 'Hi', false])
  })

  it('a process of an earlier version, which would not find them, gets no lease and renews none', async () => {
    const earlier = `INSERT INTO leases (machine, pid, expires_at) VALUES ('test', 1, now() + interval '1 hour')`
    await assert.isRejected(ctx.db.query(earlier), /leases_version/)
    await ctx.db.query('ALTER TABLE leases DROP CONSTRAINT leases_version')
    await ctx.db.query(earlier)
    await ctx.db.query('ALTER TABLE leases ADD CONSTRAINT leases_version CHECK (version IS NOT NULL) NOT VALID')
    await assert.isRejected(ctx.db.query(`UPDATE leases SET expires_at = now()`), /leases_version/)
  })

  it('mail of nothing but attachments is stored, for its owner too', async () => {
    const id = await store({ html: null, text: null })
    const { rows } = await ctx.db.query<{ id: string }>('SELECT workspace_id AS id FROM messages WHERE id = $1', [id])
    const found = await findStoredContent(ctx.db, rows[0]?.id ?? '', id)
    assert.isTrue(found?.kind === 'content' && found.isStored)
  })

  it('large ones are found in either place', async () => {
    const html = 'x'.repeat(200_000)
    await asBefore()
    const before = await store({ html, text: null })
    await asNow()
    for (const id of [before, await store({ html, text: null })]) {
      assert.isTrue((await claim(id)).isLarge)
      assert.deepEqual(await loadBodies(ctx.db, id), { html, text: null, raw: null, isBodyGone: false })
    }
  })

  it('that are no longer stored are reported, and no mail is', async () => {
    await asBefore()
    const before = [await store(), await store({ html: 'x'.repeat(200_000) })]
    await ctx.db.query('UPDATE messages SET html = NULL, body_text = NULL')
    await asNow()
    const now = [await store(), await store({ html: 'x'.repeat(200_000) })]
    await ctx.db.query('DELETE FROM message_bodies')
    for (const id of [...before, ...now]) {
      const { isLarge, isBodyGone } = await claim(id)
      assert.isTrue(isBodyGone || isLarge)
      assert.isTrue((await loadBodies(ctx.db, id)).isBodyGone)
    }
  })

  it('a mail that has only attachments has a body', async () => {
    const files = [{ filename: 'a', contentType: 'text/plain', contentId: null, content: Buffer.from('abc') }]
    await asBefore()
    const before = await store({ html: null, text: null, attachments: files })
    await asNow()
    for (const id of [before, await store({ html: null, text: null, attachments: files })])
      assert.isFalse((await claim(id)).isBodyGone)
  })

  it('move over when the last process of an earlier version has ended, and not before', async () => {
    await undoMigrations(ctx.databaseUrl, '061-message-bodies.ts')
    await ctx.db.query(`INSERT INTO nodes (name) VALUES ('mail-1')`)
    await ctx.db.query(
      sql`
        INSERT INTO node_processes (id, node, roles, version, sources, is_drained)
        VALUES (gen_random_uuid(), 'mail-1', '{outbound}', '0.1.0', '{}', false)`,
    )
    const { waiting } = await migrate(ctx.databaseUrl)
    assert.deepEqual(waiting, [{ migration: '062-contract-bodies-apart.ts', versions: ['0.1.0'] }])
    const before = await store()
    assert.deepEqual(await inMessages(before), ['<p>Hi</p>', 'Hi', false])
    await ctx.db.query('DELETE FROM node_processes')
    assert.deepEqual((await migrate(ctx.databaseUrl)).applied, ['062-contract-bodies-apart.ts'])
    const after = await store()
    assert.deepEqual(await inMessages(after), [null, null, true])
    for (const id of [before, after]) assert.strictEqual((await claim(id)).html, '<p>Hi</p>')
  })

  it('are apart from the first message of a new database on', async () => {
    const empty = await createEmptyDatabase()
    try {
      await migrate(empty.url)
      const [row] = await administer(empty.url, `SELECT apart_since = 'epoch' AS "isApart" FROM body_storage`)
      assert.deepEqual(row, { isApart: true as unknown as string })
    } finally {
      await empty.drop()
    }
  })

  it('move back into the messages when the migrations are undone', async () => {
    const ids = [await store(), await store({ html: null, text: 'x' })]
    await undoMigrations(ctx.databaseUrl, '060-request-ids.ts')
    const { rows } = await ctx.db.query(
      'SELECT html, body_text AS text FROM messages WHERE id = ANY ($1) ORDER BY id',
      [ids],
    )
    assert.deepEqual(
      rows.map((row) => Object.values(row)),
      [
        ['<p>Hi</p>', 'Hi'],
        [null, 'x'],
      ],
    )
  })
})
