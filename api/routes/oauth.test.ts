/**
 * Connecting a mailbox by a sign-in, with a real OAuth server, and the attacks on it (RFC 9700 4.7): somebody must not
 * connect another person's mailbox to their own workspace by a link, and a state, code or grant works once, in the
 * browser that began.
 */
import { assert } from 'chai'
import { createBrowser, hiddenField } from '#test/support/browser.ts'
import { listOf, OPERATOR_TOKEN, textOf, type TestResponse } from '#test/support/api.ts'
import { setUpSignIns, VICTIM } from './oauth.test-data.ts'

describe('connecting a mailbox by a sign-in', () => {
  const scene = setUpSignIns()
  const { start, at, begin, toProvider, signIn, confirm, accounts } = scene
  const back = (query: Record<string, string>): Promise<TestResponse> =>
    scene.api.call('GET', `//oauth/callback?${new URLSearchParams(query).toString()}`, {
      key: null,
      headers: { accept: 'application/json' },
    })

  it('names workspace, address and permissions before and after, and stores nothing until the button', async () => {
    const browser = createBrowser({ 'sec-fetch-site': 'same-origin' })
    const url = await begin(`provider=corp&email=${VICTIM}`)
    const first = await browser.get(url)
    assert.match(
      first.text,
      new RegExp(`Acme &lt;b&gt;&amp; Sons \\(${scene.api.workspaceId}\\)[^]*${VICTIM}, at corp`),
    )
    assert.deepEqual([first.headers.get('set-cookie'), browser.cookies.size], [null, 0])
    const page = await signIn(browser, url)
    assert.strictEqual(page.status, 200)
    assert.match(page.text, new RegExp(`<h1>Let Acme &lt;b&gt;&amp; Sons send as ${VICTIM}\\?</h1>`))
    assert.match(
      page.text,
      /<li>send email from victim@[^]*\(openid\)[^]*\(offline_access\)[^]*Nothing is connected yet/,
    )
    assert.deepEqual(await accounts(), [])
    const { rows } = await scene.api.db.query('SELECT to_jsonb(o)::text AS text FROM oauth_states o')
    assert.ok(!JSON.stringify(rows).includes(hiddenField(page, 'grant')))

    const done = await confirm(browser, page)
    assert.deepEqual([done.status, /<h1>Mailbox connected<\/h1>/.test(done.text)], [200, true])
    assert.deepEqual(await accounts(), [VICTIM])
    assert.strictEqual((await confirm(browser, page)).status, 409, 'a confirmation works once')
    const log = await scene.api.call('GET', '/public/audit-log?action=oauth-confirm', { key: scene.api.admin })
    const entries = listOf(log.body['data']?.['entries'])
    assert.deepEqual(
      entries.map((entry) => [entry['actor']?.['type'], entry['actor']?.['id'], entry['change'], entry['ip_address']]),
      [['mailbox', VICTIM, 'create', '127.0.0.1']] as unknown[] as (typeof entries)[],
    )
    assert.notMatch(JSON.stringify(entries), new RegExp(hiddenField(page, 'grant')))
  })

  it('an attacker who sends the link of the provider to somebody else gets nothing, also later', async () => {
    const attacker = createBrowser()
    const authorizeUrl = await toProvider(attacker, await begin())
    const landing = at(await scene.oauth.signIn(authorizeUrl))
    for (const browser of [createBrowser(), attacker]) {
      const page = await browser.get(landing)
      assert.deepEqual([page.status, /was not started in this browser/.test(page.text)], [409, true])
    }
    assert.deepEqual(await accounts(), [])
  })
  it('a state that one browser has opened cannot be continued in another', async () => {
    const url = await begin()
    const [first, second] = [createBrowser(), createBrowser()]
    await toProvider(first, url)
    assert.strictEqual((await second.post(url, {})).status, 404)
    assert.strictEqual((await signIn(first, url)).status, 200)
  })
  it('a grant is worth nothing in another browser, with another state, changed, or declined', async () => {
    const [victim, attacker] = [createBrowser(), createBrowser()]
    const page = await signIn(victim, await begin())
    const own = await signIn(attacker, await begin())
    const state = hiddenField(own, 'state')
    const grant = hiddenField(page, 'grant')
    const changed = grant.replace(/^(.{30})./, (_, head: string) => `${head}${grant[30] === 'A' ? 'B' : 'A'}`)
    for (const [browser, more] of [
      [attacker, {}],
      [attacker, { state }],
      [createBrowser(), {}],
      [victim, { grant: changed }],
      [victim, { grant: '' }],
      [victim, { state: 'x' }],
    ] as const)
      assert.strictEqual((await confirm(browser, page, more)).status, 409)
    const declined = await confirm(victim, page, { decline: '1' })
    assert.match(declined.text, /Nothing was connected/)
    assert.strictEqual((await confirm(victim, page)).status, 409)
    assert.deepEqual(await accounts(), [])
  })
  it('another site cannot make a browser begin, and no page can be framed', async () => {
    const url = await begin()
    assert.strictEqual((await createBrowser({ 'sec-fetch-site': 'cross-site' }).post(url, {})).status, 404)
    const page = await createBrowser().get(url)
    assert.match(page.headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/)
  })
  it('the cookie is for this host and sign-in only', async () => {
    const { headers } = await createBrowser().post(await begin(), {})
    assert.match(
      headers.get('set-cookie') ?? '',
      /^mailstead-sign-in=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/,
    )
  })
  it('ends when the workspace is suspended', async () => {
    const browser = createBrowser()
    const url = await begin()
    const page = await signIn(browser, await begin())
    const suspended = { workspace: scene.api.workspaceId }
    await scene.api.call('POST', '/admin/suspensions', { key: OPERATOR_TOKEN, body: suspended })
    assert.deepEqual([(await browser.get(url)).status, (await confirm(browser, page)).status], [404, 409])
    await scene.api.call('DELETE', '/admin/suspensions', { key: OPERATOR_TOKEN, body: suspended })
    assert.deepEqual(await accounts(), [])
  })

  it('starts at a configured provider only', async () => {
    const browser = createBrowser()
    const url = new URL(await toProvider(browser, await begin('provider=google&email=Me@Example.com')))
    assert.deepEqual(
      [url.hostname, url.searchParams.get('client_id'), url.searchParams.get('login_hint')],
      ['accounts.google.com', 'a client of Google', 'me@example.com'],
    )
    for (const query of ['', 'provider=microsoft', 'provider=constructor', 'provider=google&email=nobody'])
      assert.strictEqual((await start(query)).status, 400, query)
    for (const id of ['x', scene.api.workspaceId]) assert.strictEqual((await start(`account_id=${id}`)).status, 404)
  })
  it('a state is valid once, within 10 minutes, and cannot be forged', async () => {
    const stateOf = async (): Promise<string> => (await begin()).split('/').at(-1) ?? ''
    const state = await stateOf()
    const late = await stateOf()
    await scene.api.db.query(`UPDATE oauth_states SET expires_at = now() - interval '1 second'`)
    const last = state.slice(-1) === '0' ? '1' : '0'
    for (const wrong of [state, late, state.slice(0, -1) + last, '', 'x'.repeat(64), '0'.repeat(64)]) {
      const { status, body } = await back({ state: wrong, code: 'c' })
      assert.deepEqual([status, /not started in this browser/.test(textOf(body['message']))], [409, true], wrong)
      if (wrong !== '')
        assert.strictEqual((await createBrowser().get(`${scene.api.url}/oauth/connect/${wrong}`)).status, 404)
    }
  })
  it('error text of the provider is shown escaped', async () => {
    const browser = createBrowser()
    const authorizeUrl = new URL(await toProvider(browser, await begin()))
    const state = authorizeUrl.searchParams.get('state') ?? ''
    const query = new URLSearchParams({ state, error: '<img src=x onerror=alert(1)>', error_description: 'no' })
    const page = await browser.get(`${scene.api.url}/oauth/callback?${query.toString()}`)
    assert.strictEqual(page.status, 409)
    assert.ok(!page.text.includes('<img'))
    assert.match(page.text, /not connected[^]*corp returned an error: &lt;img/)
  })
  it('an unreachable provider connects nothing, and the response contains no secret', async () => {
    const browser = createBrowser()
    const page = await signIn(browser, await begin('provider=away'))
    assert.strictEqual(page.status, 409)
    assert.match(page.text, /the token request to away failed/)
    assert.ok(!page.text.includes(scene.oauth.clientSecret))
  })
})
