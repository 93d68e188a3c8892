import { assert } from 'chai'
import { createEncryption } from '#src/crypto/encryption.ts'
import { messageIdOf, newId } from '#src/platform/id.ts'
import { createLinks } from '#src/tracking/links.ts'
import { startApi, textOf, type TestApi } from '#test/support/api.ts'

const links = createLinks({
  encryption: createEncryption(Buffer.from('5a'.repeat(32), 'hex')),
  config: { bounceDomain: 'b.example', hostedMailUrl: null },
})
const ONE_CLICK = 'List-Unsubscribe=One-Click'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

describe('unsubscribing from bulk mail by API, whose link names an address', () => {
  let api: TestApi
  before(async () => {
    api = await startApi()
  })
  after(() => api.stop())

  const post = (url: string, body: string): Promise<Response> =>
    fetch(url, { method: 'POST', body, headers: FORM, redirect: 'manual' })
  const page = async (answer: Promise<Response>): Promise<{ status: number; text: string }> => {
    const got = await answer
    return { status: got.status, text: await got.text() }
  }
  const linkTo = (address: string, messageId = newId()): string => {
    const [, value] =
      links.bulkUnsubscribe({ base: api.url, messageId, n: 0, workspaceId: api.workspaceId, address })[0] ?? []
    return (value ?? '').slice(1, -1)
  }
  const listed = async (): Promise<string[]> =>
    (
      await api.db.query<{ entry: string }>(
        `SELECT kind || ' ' || address AS entry FROM suppressions WHERE workspace_id = $1`,
        [api.workspaceId],
      )
    ).rows.map(({ entry }) => entry)
  const stateOf = async (path: string): Promise<string> => {
    const mail = { to: 'rob@y.example', from: `a@${api.domain}`, subject: 'x', body: 'x' }
    const { body } = await api.call('POST', `/send-email/${path}`, { body: mail })
    const id = messageIdOf(textOf(body['id'])) ?? ''
    const { rows } = await api.db.query<{ state: string }>('SELECT state FROM recipients WHERE message_id = $1', [id])
    return rows[0]?.state ?? ''
  }
  afterEach(() => api.db.query('DELETE FROM suppressions WHERE workspace_id = $1', [api.workspaceId]))

  it('GET changes nothing; POST stops bulk mail to the address and no other; both may be repeated', async () => {
    const link = linkTo('Rob@y.example')
    const { status: code, text } = await page(fetch(link))
    assert.strictEqual(code, 200)
    assert.match(text, /Unsubscribe R…@y\.example from these emails\?/)
    assert.notMatch(text, /href="\/p\//)
    assert.deepEqual(await listed(), [])
    for (let time = 0; time < 2; time++) assert.strictEqual((await post(link, ONE_CLICK)).status, 200)
    assert.deepEqual(await listed(), ['unsubscribe_bulk rob@y.example'])
    assert.deepEqual([await stateOf('bulk'), await stateOf('instant')], ['suppressed', 'queued'])
  })
  it('records the event of a stored message once', async () => {
    const { body } = await api.call('POST', '/send-email/bulk', {
      body: { to: 'rob@y.example', from: `a@${api.domain}`, subject: 'x', body: 'x' },
    })
    const messageId = messageIdOf(textOf(body['id'])) ?? ''
    for (let time = 0; time < 2; time++) await post(linkTo('rob@y.example', messageId), ONE_CLICK)
    const { rows } = await api.db.query<{ type: string }>(
      `SELECT type FROM events WHERE message_id = $1 AND type = 'email.unsubscribed'`,
      [messageId],
    )
    assert.lengthOf(rows, 1)
  })
  it('the confirmation page can undo it, for this address only', async () => {
    const { text } = await page(post(linkTo('rob@y.example'), ONE_CLICK))
    const undo = /name="undo" value="([\w-]+)"/.exec(text)?.[1] ?? ''
    assert.strictEqual((await post(linkTo('other@y.example'), `undo=${undo}`)).status, 404)
    assert.match((await page(post(linkTo('rob@y.example'), `undo=${undo}`))).text, /subscribed again/)
    assert.deepEqual([await listed(), await stateOf('bulk')], [[], 'queued'])
  })
  it('a stronger cause stays, and covers all mail', async () => {
    await post(linkTo('rob@y.example'), ONE_CLICK)
    await api.call('POST', '/public/suppressions', { key: api.admin, body: { email: 'rob@y.example' } })
    await post(linkTo('rob@y.example'), ONE_CLICK)
    assert.deepEqual([await listed(), await stateOf('instant')], [['manual rob@y.example'], 'suppressed'])
  })
  it('subscribing by a form ends it', async () => {
    await post(linkTo('rob@y.example'), ONE_CLICK)
    const token = newId().replaceAll('-', '')
    await api.db.query(`INSERT INTO audiences (id, workspace_id, name, subscribe_token) VALUES ($1, $2, 'News', $3)`, [
      newId(),
      api.workspaceId,
      token,
    ])
    await post(`${api.url}/s/${token}`, 'email=rob@y.example')
    assert.deepEqual(await listed(), [])
  })
  it('the token opens no preferences page', async () =>
    assert.strictEqual((await fetch(linkTo('rob@y.example').replace('/u/', '/p/'))).status, 404))
})
