/**
 * Mail to the address in List-Unsubscribe, at the inbound port: which messages unsubscribe a contact and which do not.
 */
import { assert } from 'chai'
import { startInbound, type Inbound } from '#mta/inbound/inbound.ts'
import { saveContacts } from '#src/contacts/save-contacts.ts'
import { newId } from '#src/platform/id.ts'
import { sql } from '#src/stores/sql.ts'
import { createLinks } from '#src/tracking/links.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { deliverMessages, type DeliveredMessage } from '#test/support/delivered-messages.ts'
import { submitMessage } from '#test/support/smtp-connection.ts'

describe('unsubscribing by mail', () => {
  let ctx: TestContext
  let inbound: Inbound
  let workspaceId: string
  let audienceId: string
  let other: string
  let count = 0
  before(async () => {
    ctx = await createContext({
      MODE: 'live',
      MAILSTEAD_HOSTNAME: 'mta.sender.example',
      INBOUND_PORT: '0',
      LOG_LEVEL: 'error',
    })
    inbound = await startInbound(ctx)
    workspaceId = await ctx.newWorkspace()
    audienceId = await addAudience()
    other = await addAudience()
  })
  after(async () => {
    await inbound.stop()
    await ctx.close()
  })

  async function addAudience(): Promise<string> {
    const id = newId()
    await ctx.db.query('INSERT INTO audiences (id, workspace_id, name, subscribe_token) VALUES ($1, $2, $3, $4)', [
      id,
      workspaceId,
      'News',
      id,
    ])
    return id
  }

  interface Sent extends DeliveredMessage {
    readonly contactId: string
    readonly address: string
    readonly mailto: URL
  }

  /** A mail to a member of both audiences, sent to it as a member of the first. */
  async function sent(): Promise<Sent> {
    const email = `r${++count}@receiver.example`
    let contactId = ''
    for (const id of [audienceId, other]) {
      const saved = await ctx.db.transaction((tx) =>
        saveContacts(tx, { workspaceId, audienceId: id, now: new Date() }, [{ email }]),
      )
      if (saved.kind === 'saved') contactId = saved.contacts[0]?.contactId ?? ''
    }
    const [one] = await deliverMessages(ctx, workspaceId, [email])
    assert.ok(one !== undefined)
    const [field] = createLinks(ctx).listUnsubscribe({
      base: 'https://x.example',
      messageId: one.messageId,
      n: 0,
      workspaceId,
      senderId: workspaceId,
      contactId,
      audienceId,
    })
    const mailto = /<(mailto:[^>]+)>/.exec(field?.[1] ?? '')?.[1] ?? ''
    return { ...one, contactId, mailto: new URL(mailto) }
  }
  const write = async ({ mailto }: Sent, header: string, from = 'somebody@receiver.example'): Promise<string> =>
    (
      await submitMessage(inbound.port, {
        from,
        to: mailto.pathname,
        content: `From: somebody@receiver.example\r\n${header}\r\n\r\n`,
      })
    ).at(-1) ?? ''
  /** Subscribed to the audience of the mail, and to the other. */
  async function status({ contactId }: Sent): Promise<unknown> {
    const { rows } = await ctx.db.query<{ audience_id: string; is_subscribed: boolean }>(
      'SELECT audience_id, is_subscribed FROM memberships WHERE contact_id = $1',
      [contactId],
    )
    return [audienceId, other].map((id) => rows.find((row) => row.audience_id === id)?.is_subscribed)
  }
  async function readEvents({ messageId, contactId }: Sent): Promise<string[]> {
    const { rows } = await ctx.db.query<{ type: string }>(
      sql`
        SELECT type
        FROM events
        WHERE type LIKE '%unsubscribed' AND (message_id = $1 OR data ->> 'contact_id' = $2)
        ORDER BY type
      `,
      [messageId, contactId],
    )
    return rows.map(({ type }) => type)
  }

  it('works from any address with any text, and the message is reported once', async () => {
    const mail = await sent()
    const subject = `Subject: ${mail.mailto.searchParams.get('subject')}`
    for (let time = 0; time < 2; time++) assert.match(await write(mail, subject), /^250 /)
    assert.deepEqual(
      [await status(mail), await readEvents(mail)],
      [
        [false, true],
        ['contact.unsubscribed', 'email.unsubscribed'],
      ],
    )
  })
  for (const header of [
    'Subject: please stop',
    'Subject: =?utf-8?q?unsubscribe?=',
    'To: x@y.example',
    'Auto-Submitted: auto-generated',
    'Auto-Submitted: no',
    'Precedence: list',
  ]) {
    it(`${header}: the address is enough`, async () => {
      const mail = await sent()
      await write(mail, header)
      assert.deepEqual([await status(mail), await readEvents(mail)], [[false, true], ['contact.unsubscribed']])
    })
  }
  it('the subject of another mail says nothing', async () => {
    const [mail, another] = [await sent(), await sent()]
    await write(mail, `Subject: ${another.mailto.searchParams.get('subject')}`)
    assert.deepEqual(
      [await status(mail), await status(another), await readEvents(another)],
      [[false, true], [true, true], []],
    )
  })
  for (const [what, header, from] of [
    ['a bounce', 'Subject: Undeliverable', ''],
    ['an automatic answer', 'Auto-Submitted: auto-replied (vacation)', 'x@y.example'],
    ['one that only says so in another way', 'X-Autoreply: yes', 'x@y.example'],
    ['junk', 'Precedence: auto_reply', 'x@y.example'],
    ['a report', 'Content-Type: multipart/report; report-type=delivery-status', 'x@y.example'],
  ] as const) {
    it(`${what} is taken and does nothing`, async () => {
      const mail = await sent()
      assert.match(await write(mail, header, from), /^250 /)
      assert.deepEqual([await status(mail), await readEvents(mail)], [[true, true], []])
    })
  }
  it('a contact that was deleted is no fault; an address that is not ours is refused', async () => {
    const mail = await sent()
    await ctx.db.query('DELETE FROM contacts WHERE id = $1', [mail.contactId])
    assert.match(await write(mail, 'Subject: x'), /^250 /)
    const wrong = { ...mail, mailto: new URL(mail.mailto.href.replace('u-', 'u-a')) }
    assert.match(await write(wrong, 'Subject: x'), /^5\d\d /)
  })
})
