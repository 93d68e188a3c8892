import { assert } from 'chai'
import { messageIdOf, newId } from '#src/platform/id.ts'
import { createLinks, type MailRef } from '#src/tracking/links.ts'
import { createEncryption } from '#src/crypto/encryption.ts'
import { sql } from '#src/stores/sql.ts'
import { startApi, textOf, type TestApi } from '#test/support/api.ts'

const links = createLinks({
  encryption: createEncryption(Buffer.from('5a'.repeat(32), 'hex')),
  config: { bounceDomain: 'b.example', hostedMailUrl: null },
})
const ONE_CLICK = 'List-Unsubscribe=One-Click'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

describe('unsubscribing', () => {
  let api: TestApi
  before(async () => {
    api = await startApi()
  })
  after(() => api.stop())

  let ref: MailRef
  let news: string
  let offers: string
  beforeEach(async () => {
    news = await addAudience('News & more')
    offers = await addAudience('Offers')
    const contactId = await addContact('anna@x.example', news)
    await addContact('anna@x.example', offers)
    ref = {
      base: api.url,
      messageId: newId(),
      n: 0,
      workspaceId: api.workspaceId,
      senderId: api.domainId,
      contactId,
      audienceId: news,
    }
  })
  afterEach(() => api.db.query('DELETE FROM contacts WHERE workspace_id = $1', [api.workspaceId]))

  async function addAudience(name: string): Promise<string> {
    const id = newId()
    await api.db.query('INSERT INTO audiences (id, workspace_id, name, subscribe_token) VALUES ($1, $2, $3, $4)', [
      id,
      api.workspaceId,
      name,
      id,
    ])
    return id
  }
  async function addContact(email: string, audienceId: string): Promise<string> {
    const { body } = await api.call('POST', '/public/contacts/add-contact', {
      key: api.admin,
      body: { email, audience_id: audienceId },
    })
    return textOf(body['data']?.['id'])
  }
  const post = (url: string, body: string | FormData, headers: Record<string, string> = FORM): Promise<Response> =>
    fetch(url, { method: 'POST', body, headers: typeof body === 'string' ? headers : {}, redirect: 'manual' })
  const page = async (answer: Promise<Response>): Promise<{ status: number; text: string; headers: Headers }> => {
    const got = await answer
    return { status: got.status, headers: got.headers, text: await got.text() }
  }
  /** Whether the contact is subscribed to [news, offers], and whether it opted out of all mail. */
  async function status(): Promise<(boolean | undefined)[]> {
    const { rows } = await api.db.query<{ audience_id: string; is_subscribed: boolean }>(
      'SELECT audience_id, is_subscribed FROM memberships WHERE contact_id = $1',
      [ref.contactId],
    )
    const of = (id: string): boolean | undefined => rows.find((row) => row.audience_id === id)?.is_subscribed
    const {
      rows: [contact],
    } = await api.db.query<{ out: boolean }>('SELECT opted_out_at IS NOT NULL AS out FROM contacts WHERE id = $1', [
      ref.contactId,
    ])
    return [of(news), of(offers), contact?.out]
  }
  const eventsOf = async (): Promise<string[]> =>
    (
      await api.db.query<{ type: string; audience: string }>(
        sql`
          SELECT type, data ->> 'audience_id' AS audience
          FROM events
          WHERE data ->> 'audience_id' = ANY ($1) AND type LIKE '%unsubscribed'
          ORDER BY type, audience
        `,
        [[news, offers]],
      )
    ).rows.map(({ type, audience }) => `${type} ${audience}`)

  it('GET changes nothing, is not cached and sends no referrer', async () => {
    const { status: code, text, headers } = await page(fetch(links.unsubscribe(ref)))
    assert.strictEqual(code, 200)
    assert.match(text, /<form method="post">\n<input type="hidden" name="List-Unsubscribe" value="One-Click">/)
    assert.match(text, /Unsubscribe a…@x\.example from News &amp; more\?/)
    assert.notMatch(text, /anna|<script/)
    assert.deepEqual(
      [
        headers.get('referrer-policy'),
        headers.get('x-robots-tag'),
        headers.get('set-cookie'),
        headers.get('cache-control'),
      ],
      ['no-referrer', 'noindex', null, 'no-store'],
    )
    for (const method of ['HEAD', 'OPTIONS']) await fetch(links.unsubscribe(ref), { method })
    assert.deepEqual(await status(), [true, true, false])
  })
  it('pages have the language of the contact, before that of the browser, and the branding of the sender', async () => {
    const body = { accent_color: '#0b5d1e' }
    await api.call('PATCH', '/public/workspace/branding', { key: api.admin, body })
    await api.db.query(`UPDATE contacts SET custom_attributes = '{"language": "de"}' WHERE id = $1`, [ref.contactId])
    const { text } = await page(fetch(links.unsubscribe(ref), { headers: { 'Accept-Language': 'en' } }))
    assert.include(text, 'News &amp; more für a…@x.example abbestellen?')
    assert.include(text, 'button{background:#0b5d1e')
    await api.db.query('DELETE FROM brandings')
  })
  it('POST unsubscribes from this audience only, without cookie or redirect, and is idempotent', async () => {
    for (let time = 0; time < 2; time++) assert.strictEqual((await post(links.unsubscribe(ref), ONE_CLICK)).status, 200)
    assert.deepEqual(await status(), [false, true, false])
    assert.deepEqual(await eventsOf(), [`contact.unsubscribed ${news}`])
  })
  it('POST as multipart, in other letter case, and as JSON', async () => {
    const form = new FormData()
    form.set('List-Unsubscribe', 'One-Click')
    assert.strictEqual((await post(links.unsubscribe(ref), form)).status, 200)
    assert.deepEqual(await status(), [false, true, false])
    assert.strictEqual(
      (
        await post(links.unsubscribe({ ...ref, audienceId: offers }), '{"List-Unsubscribe": "one-click"}', {
          'content-type': 'application/json',
        })
      ).status,
      200,
    )
    assert.deepEqual(await status(), [false, false, false])
  })
  for (const [what, body] of [
    ['nothing', ''],
    ['something else', 'List-Unsubscribe=No'],
    ['another field', 'x=One-Click'],
  ] as const) {
    it(`POST of ${what} has no effect`, async () => {
      const answer = await post(links.unsubscribe(ref), body, { ...FORM, accept: 'application/json' })
      assert.deepEqual([answer.status, await status()], [400, [true, true, false]])
    })
  }
  it('a program gets JSON', async () => {
    const answer = await post(links.unsubscribe(ref), ONE_CLICK, { ...FORM, accept: 'application/json' })
    assert.deepEqual(await answer.json(), { success: true, message: 'Unsubscribed.', data: { status: 'unsubscribed' } })
  })
  it('the confirmation page can undo it; the link in the mail alone cannot', async () => {
    const { text } = await page(post(links.unsubscribe(ref), ONE_CLICK))
    const undo = /name="undo" value="([\w-]+)"/.exec(text)?.[1] ?? ''
    assert.match((await page(post(links.unsubscribe(ref), `undo=${undo}`))).text, /subscribed again/)
    assert.deepEqual(await status(), [true, true, false])
    for (const wrong of ['x', undo.slice(0, -2), ''])
      assert.strictEqual((await post(links.unsubscribe(ref), `undo=${wrong}`)).status, 404)
    await post(links.unsubscribe(ref), ONE_CLICK)
    const again = await page(post(links.unsubscribe(ref), ONE_CLICK))
    assert.notMatch(again.text, /name="undo"/)
  })
  it('mail without an audience: opts out of all such mail, and memberships stay', async () => {
    const { text } = await page(post(links.unsubscribe({ ...ref, audienceId: null }), ONE_CLICK))
    assert.deepEqual(await status(), [true, true, true])
    await post(links.unsubscribe(ref), `undo=${/name="undo" value="([\w-]+)"/.exec(text)?.[1]}`)
    assert.deepEqual(await status(), [true, true, false])
  })
  it('a deleted audience is not an error', async () => {
    await api.db.query('UPDATE audiences SET deleted_at = now() WHERE id = $1', [news])
    assert.strictEqual((await post(links.unsubscribe(ref), ONE_CLICK)).status, 200)
  })
  it('a deleted contact gets a page', async () => {
    const gone = { ...ref, contactId: newId() }
    for (const answer of [
      fetch(links.unsubscribe(gone)),
      post(links.unsubscribe(gone), ONE_CLICK),
      fetch(links.preferences(gone)),
      post(links.preferences(gone), 'all=1'),
    ]) {
      const { status: code, text } = await page(answer)
      assert.strictEqual(code, 200)
      assert.match(text, /Already unsubscribed/)
    }
  })
  it('a contact that was deleted and created again is found by the mail; event and ledger row once', async () => {
    const { body } = await api.call('POST', '/send-email/async', {
      body: { to: 'Anna@x.example', from: `a@${api.domain}`, subject: 'x', body: 'x' },
    })
    const messageId = messageIdOf(textOf(body['id'])) ?? ''
    const campaignId = newId()
    await api.db.query('UPDATE recipients SET campaign_id = $2 WHERE message_id = $1', [messageId, campaignId])
    await api.db.query(
      sql`
        INSERT INTO campaign_recipients (campaign_id, contact_id, workspace_id, email, message_id)
        VALUES ($1, $2, $3, 'anna@x.example', $4)
      `,
      [campaignId, newId(), api.workspaceId, messageId],
    )
    const mail = { ...ref, messageId, contactId: newId() }
    for (let time = 0; time < 2; time++) await post(links.unsubscribe(mail), ONE_CLICK)
    assert.deepEqual(await status(), [false, true, false])
    assert.deepEqual(await eventsOf(), [`contact.unsubscribed ${news}`, `email.unsubscribed ${news}`])
    const { rows } = await api.db.query(
      'SELECT unsubscribed_at IS NOT NULL AS is FROM campaign_recipients WHERE message_id = $1',
      [messageId],
    )
    assert.deepEqual(rows, [{ is: true }])
  })
  it('foreign and forged tokens are refused', async () => {
    for (const url of [
      `${api.url}/u/${'a'.repeat(104)}`,
      links.unsubscribe(ref).slice(0, -1),
      links.open(ref).replace('/o/', '/u/'),
      `${api.url}/p/x`,
    ]) {
      assert.strictEqual((await fetch(url)).status, 404)
      assert.strictEqual((await post(url, ONE_CLICK)).status, 404)
    }
    const other = await api.addTenant()
    assert.match(
      (await page(fetch(links.unsubscribe({ ...ref, workspaceId: other.workspaceId })))).text,
      /Already unsubscribed/,
    )
  })
  it('has a rate limit per link', async () => {
    const mine = { ...ref, messageId: newId() }
    const codes = await Promise.all(
      Array.from({ length: 70 }, async () => (await fetch(links.unsubscribe(mine))).status),
    )
    assert.strictEqual(codes.filter((code) => code === 429).length, 10)
    assert.strictEqual((await fetch(links.unsubscribe(ref))).status, 200)
  })

  describe('preferences', () => {
    const save = (fields: Record<string, string>): Promise<Response> =>
      post(links.preferences(ref), String(new URLSearchParams(fields)))
    it('show the audiences of the workspace that the contact was in', async () => {
      await addAudience('Of others')
      await post(links.unsubscribe(ref), ONE_CLICK)
      const { text, status: code } = await page(fetch(links.preferences(ref)))
      assert.strictEqual(code, 200)
      const boxes = [
        ...text.matchAll(/type="checkbox" name="(list-)?([^"]+)" value="1"( checked)?[^>]*> ([^<]+)</g),
      ].map(([, , name, checked, label]) => [name, checked !== undefined, label])
      assert.deepEqual(boxes, [
        [news, false, 'News &amp; more'],
        [offers, true, 'Offers'],
        ['all', false, 'Unsubscribe from all emails'],
      ])
      assert.deepEqual(await status(), [false, true, false])
    })
    it('are saved as chosen; audiences that were not shown do not change', async () => {
      assert.match((await page(save({ [`list-${news}`]: '0' }))).text, /role="status">Your preferences are saved/)
      assert.deepEqual(await status(), [false, true, false])
      await save({ [`list-${news}`]: '1', [`list-${offers}`]: '0', 'list-x': '1', [`list-${newId()}`]: '1' })
      assert.deepEqual(await status(), [true, false, false])
      assert.deepEqual(await eventsOf(), [`contact.unsubscribed ${news}`, `contact.unsubscribed ${offers}`])
    })
    it('opting out ends all memberships; subscribing again ends the opt-out', async () => {
      await save({ [`list-${news}`]: '1', all: '1' })
      assert.deepEqual(await status(), [false, false, true])
      await post(`${api.url}/s/${await tokenOf(news)}`, 'email=anna@x.example')
      assert.deepEqual(await status(), [true, false, false])
    })
    async function tokenOf(id: string): Promise<string> {
      const token = newId().replaceAll('-', '')
      await api.db.query('UPDATE audiences SET subscribe_token = $2 WHERE id = $1', [id, token])
      return token
    }
  })
})
