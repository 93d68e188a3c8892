import { request as httpRequest } from 'node:http'
import { assert } from 'chai'
import { messageIdOf, newId } from '#src/platform/id.ts'
import { createLinks, type MailRef } from '#src/tracking/links.ts'
import { createEncryption } from '#src/crypto/encryption.ts'
import { OPERATOR_TOKEN, startApi, textOf, type TestApi } from '#test/support/api.ts'

const BROWSER =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36'
interface HitRow {
  readonly n: number
  readonly url: string | null
  readonly user_agent: string
  readonly machine: string | null
  readonly address: string
}

describe('open pixels and tracked links', () => {
  let api: TestApi
  before(async () => {
    api = await startApi({ TRUST_PROXY: '1' })
  })
  after(() => api.stop())
  const links = createLinks({
    encryption: createEncryption(Buffer.from('5a'.repeat(32), 'hex')),
    config: { bounceDomain: 'b.example', hostedMailUrl: null },
  })
  let ref: MailRef
  beforeEach(() => {
    ref = {
      base: api.url,
      messageId: newId(),
      n: 2,
      workspaceId: api.workspaceId,
      senderId: api.domainId,
      contactId: null,
      audienceId: null,
    }
  })
  const ask = (
    url: string,
    {
      method = 'GET',
      headers = {},
    }: { readonly method?: string; readonly headers?: Readonly<Record<string, string>> } = {},
  ): Promise<Response> => fetch(url, { method, redirect: 'manual', headers: { 'user-agent': BROWSER, ...headers } })
  async function stored(): Promise<HitRow[]> {
    return (
      await api.db.query<HitRow>(
        'SELECT n, url, user_agent, machine, address FROM tracking_hits WHERE message_id = $1 ORDER BY id',
        [ref.messageId],
      )
    ).rows
  }

  it('the pixel is a cross-origin image that is never cached; its hit is stored before the response', async () => {
    const answer = await ask(links.open(ref), { headers: { 'x-forwarded-for': '81.2.69.160' } })
    assert.deepEqual(
      [
        answer.status,
        answer.headers.get('content-type'),
        answer.headers.get('cache-control'),
        answer.headers.get('cross-origin-resource-policy'),
        answer.headers.get('x-robots-tag'),
      ],
      [200, 'image/gif', 'no-store', 'cross-origin', 'noindex'],
    )
    assert.strictEqual(Buffer.from(await answer.arrayBuffer()).toString('latin1', 0, 6), 'GIF89a')
    assert.deepEqual(await stored(), [{ n: 2, url: null, user_agent: BROWSER, machine: null, address: '81.2.69.160' }])
  })
  for (const url of [
    'https://a.example/?b=1&c=%C3%BC#d',
    'http://xn--bcher-kva.example/',
    'https://a.example/?q=%0d%0aSet-Cookie:%20x',
  ])
    it(`redirects to ${url} and stores the click`, async () => {
      const answer = await ask(links.click(ref, url))
      assert.deepEqual(
        [answer.status, answer.headers.get('location'), answer.headers.get('referrer-policy')],
        [302, url, 'no-referrer'],
      )
      assert.deepEqual(
        (await stored()).map((hit) => hit.url),
        [url],
      )
    })
  it('the fast path and the route (used here for a query) respond and count alike', async () => {
    const own = new Set(['x-request-id', 'date', 'content-type', 'content-length'])
    const headersOf = (answer: Response): string[] =>
      [...answer.headers]
        .filter(([name]) => !own.has(name))
        .map((pair) => pair.join(': '))
        .toSorted((one, other) => one.localeCompare(other))
    const counted = async (route: string): Promise<number> => {
      const text = await (
        await fetch(`${api.url}/metrics`, { headers: { authorization: `Bearer ${OPERATOR_TOKEN}` } })
      ).text()
      return Number(
        new RegExp(`^mailstead_http_requests_total\\{.*route="${route}".*\\} (\\d+)$`, 'm').exec(text)?.[1] ?? 0,
      )
    }
    for (const [url, route] of [
      [links.open(ref), 'open-pixel'],
      [links.click(ref, 'https://a.example/'), 'follow-link'],
    ] as const) {
      const before = await counted(route)
      const [direct, usual] = [
        await ask(url, { headers: { 'x-request-id': 'mine' } }),
        await ask(`${url}?a=b`, { headers: { 'x-request-id': 'mine' } }),
      ]
      assert.deepEqual([direct.status, headersOf(direct)], [usual.status, headersOf(usual)])
      assert.strictEqual(direct.headers.get('x-request-id'), 'mine')
      assert.strictEqual(await counted(route), before + 2)
    }
    assert.strictEqual((await stored()).length, 4)
  })
  it('HEAD and prefetch get the same response and count as machines', async () => {
    const head = await ask(links.click(ref, 'https://a.example/'), { method: 'HEAD' })
    assert.strictEqual(head.headers.get('location'), 'https://a.example/')
    assert.strictEqual((await ask(links.open(ref), { headers: { purpose: 'prefetch' } })).status, 200)
    assert.deepEqual(
      (await stored()).map(({ machine }) => machine),
      ['head', 'prefetch'],
    )
  })
  it('a forged link redirects nowhere and stores nothing', async () => {
    const own = links.click(ref, 'https://a.example/')
    const coded = (url: string): string => Buffer.from(url).toString('base64url')
    const swap = (url: string): string => own.replace(/[^/]+$/, coded(url))
    const js = links.click(ref, 'javascript:alert(1)')
    const broken = links.click(ref, 'https://a.example/\r\nSet-Cookie: x')
    for (const url of [
      swap('https://evil.example/'),
      js,
      broken,
      own.slice(0, -1),
      own.replace('/c/', '/c/x'),
      own.replace(/[^/]+$/, '%00'),
      links.open(ref).slice(0, -1),
      links.open(ref).replace('/o/', '/c/') + '/eA',
      links.view(ref).replace('/v/', '/o/'),
    ]) {
      const answer = await ask(url)
      assert.ok([400, 404].includes(answer.status), `${url}: ${answer.status}`)
      assert.strictEqual(answer.headers.get('location'), null)
    }
    assert.deepEqual(await stored(), [])
  })
  it('an invalid link shows a page to a browser and JSON to a program', async () => {
    const wrong = `${api.url}/c/x/eA`
    const page = await ask(wrong, { headers: { accept: 'text/html' } })
    assert.match(await page.text(), /<h1>Link not valid<\/h1>/)
    const json = await api.call('GET', '//c/x/eA', { key: null, headers: { accept: 'application/json' } })
    assert.deepEqual([json.status, json.body['error']], [404, 'NOT_FOUND'])
  })
  describe('view in browser', () => {
    async function store(content: { readonly html?: string; readonly text?: string }): Promise<string> {
      const { body } = await api.call('POST', '/send-email/async', {
        body: { to: 'a@x.example', from: `a@${api.domain}`, subject: 'Hi <b>', ...content },
      })
      return links.view({ ...ref, messageId: messageIdOf(textOf(body['id'])) ?? '' })
    }
    it('shows the stored HTML in a sandbox without script, untracked', async () => {
      const html = '<p>Hello</p><script>alert(1)</script><a href="https://a.example/">x</a>'
      const answer = await ask(await store({ html }))
      assert.deepEqual([answer.status, await answer.text(), answer.headers.get('x-robots-tag')], [200, html, 'noindex'])
      const policy = answer.headers.get('content-security-policy') ?? ''
      assert.match(policy, /^sandbox /)
      assert.match(policy, /default-src 'none'/)
      assert.notMatch(policy, /script-src|allow-scripts|allow-same-origin|allow-forms/)
    })
    it('shows HTML that is stored compressed', async () => {
      const html = `<p>Hello</p>${'<p>Some words of a long mail.</p>'.repeat(500)}`
      const answer = await ask(await store({ html }))
      assert.deepEqual([answer.status, await answer.text()], [200, html])
    })
    it('shows text as text', async () => {
      const text = await (await ask(await store({ text: 'One <i>\nTwo' }))).text()
      assert.match(text, /<h1>Hi &lt;b&gt;<\/h1>\n<p>One &lt;i&gt;<br>\nTwo<br>/)
    })
    it('an expired mail has a page that says so; an invalid link does not', async () => {
      assert.match(await (await ask(links.view(ref))).text(), /Email no longer available/)
      assert.strictEqual((await ask(links.view(ref).slice(0, -1))).status, 404)
      assert.strictEqual((await ask(links.open(ref).replace('/o/', '/v/'))).status, 404)
    })
  })
  it('headers of any length are harmless', async () => {
    const url = new URL(links.open(ref))
    const status = await new Promise<number | undefined>((resolve) =>
      httpRequest(
        { host: url.hostname, port: url.port, path: url.pathname, headers: { 'user-agent': 'é'.repeat(3000) } },
        (res) => {
          res.resume()
          resolve(res.statusCode)
        },
      ).end(),
    )
    assert.strictEqual(status, 200)
    assert.strictEqual((await stored())[0]?.user_agent.length, 500)
  })
})
