/**
 * The pages for developers without a browser: their files exist, come from this service, comply with the Content-
 * Security-Policy, and are small. They can be read by keyboard and screen reader, and reveal nothing.
 */
import { Script } from 'node:vm'
import { gzipSync } from 'node:zlib'
import { assert } from 'chai'
import { parseDocument } from 'htmlparser2'
import { startApi, type TestApi } from '#test/support/api.ts'

interface Element {
  readonly name?: string
  readonly attribs?: Readonly<Record<string, string>>
  readonly children?: readonly Element[]
  readonly data?: string
}

function elementsOf(node: Element): Element[] {
  return [node, ...(node.children ?? []).flatMap(elementsOf)]
}

function textOf(node: Element): string {
  return (node.data ?? '') + (node.children ?? []).map(textOf).join('')
}

const MAX_COMPRESSED = 400 * 1024

describe('the pages for developers', () => {
  let api: TestApi
  const pages = new Map<string, Element[]>()
  const sources = new Map<string, string>()
  before(async () => {
    api = await startApi({
      PUBLIC_URL: 'https://mail.secret-name.example',
      MODE: 'live',
      MAILSTEAD_HOSTNAME: 'mx.secret-name.example',
    })
    for (const path of ['/', '/docs']) {
      const page = await fetch(api.url + path)
      assert.deepEqual([page.status, page.headers.get('content-type')], [200, 'text/html; charset=utf-8'])
      assert.deepEqual(page.headers.get('content-security-policy')?.split('; '), [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        'img-src data:',
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
      ])
      const source = await page.text()
      sources.set(path, source)
      pages.set(path, elementsOf(parseDocument(source)))
    }
  })
  after(() => api.stop())

  const assetsOf = (path: string): string[] =>
    (pages.get(path) ?? [])
      .filter(({ name }) => name === 'script' || name === 'link')
      .map(({ attribs }) => attribs?.['src'] ?? attribs?.['href'] ?? '')
      .filter((one) => !one.startsWith('data:'))

  for (const path of ['/', '/docs']) {
    it(`${path} has nothing inline and loads nothing from other sites`, () => {
      for (const { name, attribs = {}, children } of pages.get(path) ?? []) {
        assert.notInclude(['style', 'iframe', 'img', 'form'], name)
        assert.ok(!Object.keys(attribs).some((one) => one.startsWith('on') || one === 'style'), JSON.stringify(attribs))
        if (name === 'script')
          assert.deepEqual([children?.length, attribs['src']?.startsWith('/docs/assets/')], [0, true])
        if (name === 'a') assert.match(attribs['href'] ?? '', /^(?:\/(?!\/)|#)/)
      }
      assert.ok(assetsOf(path).every((one) => one.startsWith('/docs/assets/')))
    })
    it(`${path} has one heading, landmarks, a language, and links that lead somewhere`, () => {
      const all = pages.get(path) ?? []
      const count = (name: string): number => all.filter((one) => one.name === name).length
      assert.deepEqual([count('h1'), count('main'), count('header')], [1, 1, 1])
      assert.strictEqual(all.find(({ name }) => name === 'html')?.attribs?.['lang'], 'en')
      const ids = all.flatMap(({ attribs }) => (attribs?.['id'] === undefined ? [] : [attribs['id']]))
      assert.strictEqual(new Set(ids).size, ids.length, 'an id occurs twice')
      const targets = all.flatMap(({ attribs }) =>
        attribs?.['href']?.startsWith('#') === true ? [attribs['href']] : [],
      )
      for (const target of targets) assert.include(ids, target.slice(1))
    })
  }

  it('list every endpoint and every shared object', async () => {
    const document = (await (await fetch(`${api.url}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, { operationId: string; deprecated?: boolean; tags: string[] }>>
    }
    const ids = new Set((pages.get('/docs') ?? []).map(({ attribs }) => attribs?.['id']))
    const operations = Object.values(document.paths).flatMap((item) => Object.values(item))
    for (const { operationId, deprecated } of operations)
      assert.strictEqual(ids.has(operationId), deprecated !== true, operationId)
  })
  it('are below 400 KB together with their files, compressed', async () => {
    for (const path of ['/', '/docs']) {
      const page = await fetch(api.url + path, { headers: { 'accept-encoding': 'gzip' } })
      assert.deepEqual([page.headers.get('content-encoding'), page.headers.get('vary')], ['gzip', 'Accept-Encoding'])
      const files = await Promise.all(assetsOf(path).map(async (one) => (await fetch(api.url + one)).text()))
      const bytes = [await page.text(), ...files].reduce((sum, text) => sum + gzipSync(text).length, 0)
      assert.isBelow(bytes, MAX_COMPRESSED, path)
    }
  })
  it('are sent unchanged to a client without gzip, and not again to one that has them', async () => {
    for (const encoding of ['identity', 'gzip;q=0', 'br']) {
      const page = await fetch(`${api.url}/docs`, { headers: { 'accept-encoding': encoding } })
      assert.deepEqual(
        [page.headers.get('content-encoding'), await page.text()],
        [null, sources.get('/docs')],
        encoding,
      )
    }
    for (const encoding of ['gzip', 'identity']) {
      const headers = { 'accept-encoding': encoding }
      const etag = (await fetch(`${api.url}/docs`, { headers })).headers.get('etag') ?? ''
      const again = await fetch(`${api.url}/docs`, { headers: { ...headers, 'if-none-match': etag } })
      assert.strictEqual(again.status, 304)
    }
  })
  it('at the root says what this is and where to go, and nothing about the installation', async () => {
    const source = sources.get('/') ?? ''
    assert.match(source, /<a href="\/docs">API reference<\/a>/)
    assert.notMatch(source, /secret-name|127\.0\.0\.1|\d+\.\d+|sandbox mode|localhost/)
    const other = await startApi({ PUBLIC_URL: 'https://other.example' })
    try {
      assert.strictEqual(await (await fetch(other.url)).text(), source)
    } finally {
      await other.stop()
    }
  })
  it('names its variables, and shows an example of each endpoint', () => {
    const all = pages.get('/docs') ?? []
    const bodies = all.filter(({ attribs }) => attribs?.['class'] === 'body' && !attribs['id']?.startsWith('schema-'))
    assert.isAbove(bodies.length, 150)
    for (const body of bodies) assert.match(textOf(body), /curl /, body.attribs?.['id'])
    const boxes = all.filter(({ name }) => name === 'pre')
    for (const { attribs } of boxes) assert.strictEqual(attribs?.['tabindex'], '0', 'a keyboard can scroll it')
  })
  it('serve their own files, cacheable without expiry', async () => {
    assert.lengthOf(assetsOf('/docs'), 2)
    for (const address of assetsOf('/docs')) {
      const file = await fetch(api.url + address)
      const type = address.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8'
      assert.deepEqual(
        [file.status, file.headers.get('content-type'), file.headers.get('cache-control')],
        [200, type, 'public, max-age=31536000, immutable'],
        address,
      )
      const text = await file.text()
      if (address.endsWith('.js')) assert.doesNotThrow(() => new Script(text))
      else assert.match(text, /prefers-color-scheme: dark/)
      assert.match(address, /\.[0-9a-f]{16}\.(?:css|js)$/)
      const again = await fetch(api.url + address, { headers: { 'if-none-match': file.headers.get('etag') ?? '' } })
      assert.strictEqual(again.status, 304)
    }
  })
  it('are reachable by redirects from common addresses', async () => {
    for (const path of ['/docs/', '/docs?x=1']) assert.strictEqual((await fetch(api.url + path)).status, 200, path)
    for (const path of ['/api/docs', '/api/v1/docs', '/swagger']) {
      const answer = await fetch(api.url + path, { redirect: 'manual' })
      assert.deepEqual([answer.status, answer.headers.get('location')], [302, '/docs'], path)
    }
  })
  for (const name of ['x.js', '..%2Fpackage.json', 'reference.js', '__proto__'])
    it(`have no file ${name}`, async () =>
      assert.strictEqual((await api.call('GET', `//docs/assets/${name}`)).status, 404))
})
