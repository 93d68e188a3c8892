/**
 * The reference page without a browser: its files exist, come from this service, and comply with its Content-
 * Security-Policy.
 */
import { Script } from 'node:vm'
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

describe('the reference page', () => {
  let api: TestApi
  let html: Element[]
  let policy: Map<string, string>
  before(async () => {
    api = await startApi({ PUBLIC_URL: 'https://mail.example' })
    const page = await fetch(`${api.url}/docs`)
    assert.deepEqual([page.status, page.headers.get('content-type')], [200, 'text/html; charset=utf-8'])
    html = elementsOf(parseDocument(await page.text()))
    const parts = (page.headers.get('content-security-policy') ?? '').split('; ')
    policy = new Map(parts.map((part) => [part.split(' ')[0] ?? '', part.split(' ').slice(1).join(' ')]))
  })
  after(() => api.stop())

  const addresses = (): string[] =>
    html
      .flatMap(({ attribs }) => [attribs?.['src'] ?? '', attribs?.['href'] ?? ''])
      .filter((one) => /^(?!data:)./.test(one))

  it('has no inline script and no external resource', () => {
    const scripts = html.filter(({ name }) => name === 'script')
    assert.strictEqual(scripts.length, 2)
    for (const script of scripts)
      assert.deepEqual([script.children?.length, typeof script.attribs?.['src']], [0, 'string'])
    for (const { attribs } of html)
      assert.ok(!Object.keys(attribs ?? {}).some((name) => name.startsWith('on') || name === 'style'))
    assert.ok(
      addresses().every((address) => address.startsWith('/')),
      addresses().join(),
    )
    assert.strictEqual(addresses().length, 4)
  })
  it('has a Content-Security-Policy that allows only what it needs', () => {
    assert.deepEqual(Object.fromEntries(policy), {
      'default-src': "'none'",
      'script-src': "'self'",
      'style-src': "'self'",
      'img-src': "'self' data:",
      'connect-src': "'self' https://mail.example",
      'base-uri': "'none'",
      'form-action': "'none'",
      'frame-ancestors': "'none'",
    })
  })
  it('serves its own files, cacheable without expiry', async () => {
    for (const address of addresses().filter((one) => one !== '/openapi.json')) {
      const file = await fetch(api.url + address)
      const type = address.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8'
      assert.deepEqual(
        [file.status, file.headers.get('content-type'), file.headers.get('cache-control')],
        [200, type, 'public, max-age=31536000, immutable'],
        address,
      )
      const text = await file.text()
      assert.ok(text.length > 100 && !/sourceMappingURL/.test(text.slice(-500)), address)
      assert.match(address, /\.[0-9a-f]{16}\.(?:css|js)$/)
      const again = await fetch(api.url + address, { headers: { 'if-none-match': file.headers.get('etag') ?? '' } })
      assert.strictEqual(again.status, 304)
    }
  })
  it('has scripts that parse, and calls no external validator', async () => {
    const start = await fetch(api.url + (addresses().find((one) => one.includes('start.')) ?? '')).then((file) =>
      file.text(),
    )
    assert.doesNotThrow(() => new Script(start))
    assert.match(start, /validatorUrl: null/)
  })
  it('is reachable by redirects from common addresses', async () => {
    for (const path of ['/docs/', '/docs?x=1']) assert.strictEqual((await fetch(api.url + path)).status, 200, path)
    for (const path of ['/api/docs', '/api/v1/docs', '/swagger']) {
      const answer = await fetch(api.url + path, { redirect: 'manual' })
      assert.deepEqual([answer.status, answer.headers.get('location')], [302, '/docs'], path)
    }
  })
  for (const name of ['x.js', '..%2Fpackage.json', 'swagger-ui-bundle.js', '__proto__'])
    it(`has no file ${name}`, async () =>
      assert.strictEqual((await api.call('GET', `//docs/assets/${name}`)).status, 404))
})
