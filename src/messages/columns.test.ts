/** The table of columns against the database: every column is in it, with its type, and is stored and read by it. */
import { assert } from 'chai'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { testRecipients, submissionOf } from '#test/support/submission.ts'
import { claimRecipients, type ClaimedRecipient } from './claim.ts'
import { COLUMN_LIST, MESSAGE_COLUMNS, type ColumnName, type MessageRow } from './columns.ts'
import { storeMessages } from './message-store.ts'
import type { Submission } from './submission.ts'

/** Events are only stored near their time, for which there is a partition. */
const AT = new Date(Date.now() + 60_000)
const ID = '01980000-0000-7000-8000-0000000000aa'
const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const BOX = { email: 'me@sender.example', name: 'Me, "myself"' }

/**
 * A value for each column that is stored when a message is accepted, and the same value as it is read from the table.
 */
const STORED: readonly (readonly [ColumnName, Partial<Submission>, unknown])[] = [
  ['api_key_id', { apiKeyId: ID }, ID],
  ['domain_id', { domainId: ID }, ID],
  ['tier', { tier: 'bulk' }, 'bulk'],
  ['from_email', { from: BOX }, BOX.email],
  ['from_name', { from: BOX }, BOX.name],
  ['reply_to', { replyTo: BOX }, BOX],
  ['to_list', { to: [BOX] }, [BOX]],
  ['cc_list', { cc: [BOX] }, [BOX]],
  ['subject', { subject: 'Grüße' }, 'Grüße'],
  ['html', { html: '<p>ü</p>' }, '<p>ü</p>'],
  ['body_text', { text: Buffer.from('ü') }, 'ü'],
  ['raw', { smtp: { raw: Buffer.of(0, 255), envelope: { from: '' } } }, Buffer.of(0, 255)],
  ['has_body_row', {}, true],
  ['headers', { headers: [['X-A', 'b']] }, [['X-A', 'b']]],
  ['tags', { tags: ['a', 'b"c'] }, ['a', 'b"c']],
  ['metadata', { metadata: { order: 1, gift: null } }, { order: 1, gift: null }],
  [
    'has_attachments',
    { attachments: [{ filename: 'a', contentType: 'text/plain', contentId: null, content: Buffer.from('abc') }] },
    true,
  ],
  ['content_size', { text: 'four' }, 4],
  ['track_opens', { trackOpens: false }, false],
  ['track_clicks', { trackClicks: true }, true],
  ['recipient_count', { recipients: testRecipients(3) }, 3],
  ['event_count', { recipients: testRecipients(3) }, 3],
  ['scheduled_at', { scheduledAt: AT }, AT],
  ['timezone', { timezone: 'Europe/Berlin' }, 'Europe/Berlin'],
  ['expires_at', { expiresAt: AT }, AT],
  ['created_at', { createdAt: AT }, AT],
  ['submitted', { smtp: { raw: null, envelope: { from: 'a@b', isUtf8: true } } }, { from: 'a@b', isUtf8: true }],
  ['request_id', { origin: { requestId: 'r-1', traceparent: null } }, 'r-1'],
  ['traceparent', { origin: { requestId: 'r-1', traceparent: TRACEPARENT } }, TRACEPARENT],
  ['is_confidential', { isConfidential: true }, true],
  ['template', { template: { id: ID, version: 2, is_test: true } }, { id: ID, version: 2, is_test: true }],
]
/** The columns of the body are read last. */
const STORED_MESSAGE = 'SELECT * FROM messages JOIN message_bodies ON message_id = id WHERE id = $1'
/** Every message has these, and each test message its own. */
const IDENTITY = ['id', 'workspace_id']

describe('the columns of messages', () => {
  let ctx: TestContext
  before(async () => {
    ctx = await createContext()
  })
  after(() => ctx.close())

  it('are those of the database, each with its type', async () => {
    const { rows } = await ctx.db.query<{ name: string; type: string; isNullable: boolean }>(sql`
      SELECT attname AS name, format_type(atttypid, NULL) AS type, NOT attnotnull AS "isNullable"
      FROM pg_attribute
      WHERE attrelid = 'messages'::regclass AND attnum > 0 AND NOT attisdropped`)
    const named = COLUMN_LIST.map(([name, { type }]) => ({
      name,
      type: type.name === 'timestamptz' ? 'timestamp with time zone' : type.name,
      isNullable: type.isNullable,
    }))
    const byName = (one: { name: string }, other: { name: string }): number => one.name.localeCompare(other.name)
    assert.deepEqual(named.toSorted(byName), rows.toSorted(byName))
  })

  it('are each stored by a row below, unless they belong to campaigns and automations', () => {
    const inserted = COLUMN_LIST.filter(([, { pick, computed }]) => pick !== undefined || computed !== undefined)
    assert.deepEqual(
      [...IDENTITY, ...STORED.map(([name]) => name)].toSorted(),
      inserted.map(([name]) => name).toSorted(),
    )
  })

  for (const [name, replaced, value] of STORED)
    it(`${name} is stored and read`, async () => {
      const submission = submissionOf(await ctx.newWorkspace(), replaced)
      await ctx.db.transaction((tx) => storeMessages(tx, [submissionOf(submission.workspaceId), submission]))
      const { rows } = await ctx.db.query<MessageRow>(STORED_MESSAGE, [submission.id])
      assert.deepEqual(rows[0]?.[name], value)
    })

  it('that are optional are null without a value, or their default', async () => {
    const submission = submissionOf(await ctx.newWorkspace())
    await ctx.db.transaction((tx) => storeMessages(tx, [submission]))
    const { rows } = await ctx.db.query<MessageRow>(STORED_MESSAGE, [submission.id])
    for (const [name, { isOptional, byDefault }] of COLUMN_LIST)
      if (isOptional) assert.strictEqual(rows[0]?.[name], byDefault === undefined ? null : false, name)
  })

  describe('in a claim', () => {
    const claim = async (replaced: Partial<Submission>): Promise<ClaimedRecipient> => {
      const submission = submissionOf(await ctx.newWorkspace(), replaced)
      await ctx.db.transaction((tx) => storeMessages(tx, [submission]))
      const { rows } = await ctx.db.query<{ id: number }>(
        sql`
          INSERT INTO leases (version, machine, pid, expires_at)
          VALUES ('0.2.0', 'test', 1, now() + interval '1 hour')
          RETURNING id`,
      )
      const wanted = [{ messageId: submission.id, n: 0 }]
      const later = new Date(Math.max(Date.now(), AT.getTime()))
      return (await claimRecipients(ctx.db, rows[0]?.id ?? 0, wanted, later))[0] ?? assert.fail('was not claimed')
    }

    it('fill the fields that the table names', async () => {
      const { content, ...claimed } = await claim({})
      for (const { recipient, content: field } of Object.values<(typeof COLUMN_LIST)[number][1]>(MESSAGE_COLUMNS)) {
        if (recipient !== undefined) assert.ok(recipient in claimed, recipient)
        if (field !== undefined) assert.ok(field in content, field)
      }
    })
    it('come back as they were submitted', async () => {
      const submission = {
        domainId: ID,
        from: BOX,
        replyTo: BOX,
        to: [BOX],
        cc: [BOX],
        subject: 'Grüße',
        html: '<p>ü</p>',
        text: 'ü',
        headers: [['X-A', 'b']],
        trackOpens: true,
        trackClicks: false,
        scheduledAt: AT,
        expiresAt: AT,
        createdAt: new Date(AT.getTime() - 1000),
      } as const
      const { content, ...claimed } = await claim(submission)
      const { raw, hasAttachments, size, isLarge, isBodyGone, compressed, ...texts } = content
      const { domainId, trackOpens, trackClicks, expiresAt, beganAt: scheduledAt } = claimed
      assert.deepEqual({ ...texts, domainId, trackOpens, trackClicks, expiresAt, scheduledAt }, submission)
      assert.deepEqual(
        { raw, hasAttachments, size, isLarge, isBodyGone, compressed },
        { raw: null, hasAttachments: false, size: 9, isLarge: false, isBodyGone: false, compressed: null },
      )
      assert.deepEqual([claimed.deferredContent, claimed.contact, claimed.submitted], [null, null, null])
    })
    it('have defaults where a submission has no value', async () => {
      const { content, beganAt } = await claim({ createdAt: AT })
      assert.deepEqual([content.cc, content.headers, beganAt], [[], [], AT])
    })
    it('leave large bodies for later', async () => {
      const { content } = await claim({ html: 'x'.repeat(200_000) })
      assert.deepEqual([content.html, content.text, content.isLarge], [null, null, true])
    })
  })
})
