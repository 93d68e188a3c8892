import { assert } from 'chai'
import { startApi, textOf, type TestApi, type TestResponse } from '#test/support/api.ts'

const GIF = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'
const HOSTILE = '</style><script>alert(1)</script>"\'&{list}'

describe('branding of the public pages', () => {
  let api: TestApi
  let formPath: string
  before(async () => {
    api = await startApi({ DNS_SERVERS: '127.0.0.1:1' })
    const body = { name: 'News & <b>more</b>' }
    const added = await api.call('POST', '/public/audiences/add-audience', { key: api.admin, body })
    formPath = new URL(textOf(added.body['data']?.['subscribeUrl'])).pathname
  })
  after(() => api.stop())

  const change = (body: object): Promise<TestResponse> =>
    api.call('PATCH', '/public/workspace/branding', { key: api.admin, body })
  const setLogo = (content: string): Promise<TestResponse> =>
    api.call('PUT', '/public/workspace/branding/logo', { key: api.admin, body: { content_base64: content } })
  async function open(path: string, language = 'en'): Promise<{ text: string; policy: string }> {
    const headers = { 'Accept-Language': language, Accept: 'text/html' }
    const response = await fetch(api.url + path, { headers })
    assert.strictEqual(response.status, 200)
    return { text: await response.text(), policy: response.headers.get('content-security-policy') ?? '' }
  }

  it('without one a page has the language of the browser', async () => {
    assert.include((await open(formPath)).text, '<html lang="en">')
    const german = (await open(formPath, 'de-DE,de;q=0.9')).text
    assert.include(german, '<html lang="de">')
    assert.include(german, '<button type="submit">Abonnieren</button>')
    assert.include(german, 'News &amp; &lt;b&gt;more&lt;/b&gt; abonnieren')
  })

  it('changes colours, texts and the logo of the pages, under a strict policy', async () => {
    const logo = await setLogo(GIF)
    assert.strictEqual(logo.status, 200, JSON.stringify(logo.body))
    const url = textOf(logo.body['data']?.['logo_url'])
    const changed = await change({
      accent_color: '#7A1F3D',
      texts: { en: { 'subscribe.button': HOSTILE }, fr: { 'subscribe.button': 'Oui' } },
      logo_alt: HOSTILE,
    })
    assert.strictEqual(changed.status, 200, JSON.stringify(changed.body))
    const { text, policy } = await open(formPath)
    assert.include(text, 'button{background:#7a1f3d')
    assert.include(text, `<img class="logo" src="${url}"`)
    assert.notInclude(text, '<script>alert')
    assert.include(text, '&lt;/style&gt;&lt;script&gt;')
    assert.match(policy, /^default-src 'none'; style-src 'sha256-[\w+/=]+'; img-src \S+; form-action 'self'/)
    assert.notInclude(policy, 'unsafe')
    assert.include((await open(formPath, 'fr')).text, '<button type="submit">Oui</button>')
  })

  it('serves the logo only as an image that never changes', async () => {
    const { body } = await api.call('GET', '/public/workspace/branding', { key: api.admin })
    const url = new URL(textOf(body['data']?.['logo_url']))
    const response = await fetch(api.url + url.pathname)
    assert.strictEqual(response.headers.get('content-type'), 'image/gif')
    assert.strictEqual(response.headers.get('x-content-type-options'), 'nosniff')
    assert.match(response.headers.get('cache-control') ?? '', /immutable/)
    assert.strictEqual(Buffer.from(await response.arrayBuffer()).toString('base64'), GIF)
    assert.strictEqual((await fetch(`${api.url}${url.pathname}0`)).status, 404)
  })

  const REFUSED: readonly [what: string, body: object, path: string][] = [
    ['links that nobody can read', { accent_color: '#ffff00' }, 'accent_color'],
    ['text that nobody can read', { background_color: '#222222' }, 'text_color'],
    ['a colour that is CSS', { accent_color: 'red;}body{x:url(//evil.example)' }, 'accent_color'],
    ['an unknown key', { texts: { en: { nothing: 'x' } } }, 'nothing'],
    ['a language without texts', { default_language: 'es' }, 'default_language'],
  ]
  for (const [what, body, path] of REFUSED)
    it(`refuses ${what}`, async () => {
      const { status, body: answer } = await change(body)
      assert.strictEqual(status, 400)
      assert.include(JSON.stringify(answer['details']), path)
    })
  it('refuses SVG as a logo', async () => {
    assert.strictEqual(
      (await setLogo(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>').toString('base64'))).status,
      400,
    )
  })

  it('is previewed without being stored, each page and the mail', async () => {
    for (const page of ['subscribe', 'thanks', 'confirm', 'unsubscribe', 'unsubscribed', 'preferences', 'mail']) {
      const { status, body } = await api.call('POST', '/public/workspace/branding/preview', {
        key: api.admin,
        body: { page, language: 'de', accent_color: '#0b5d1e' },
      })
      assert.strictEqual(status, 200, JSON.stringify(body))
      assert.strictEqual(textOf(body['data']?.['language']), 'de')
      assert.include(textOf(body['data']?.['html']), '#0b5d1e', page)
    }
    const { body } = await api.call('GET', '/public/workspace/branding', { key: api.admin })
    assert.strictEqual(textOf(body['data']?.['accent_color']), '#7a1f3d')
  })

  it('is of one workspace', async () => {
    const other = await api.addTenant()
    const { body } = await api.call('GET', '/public/workspace/branding', { key: other.admin })
    assert.deepEqual([body['data']?.['accent_color'], body['data']?.['logo_url']], [null, null])
  })
})
