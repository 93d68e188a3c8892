import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { assert } from 'chai'
import { startApi, type TestApi } from '#test/support/api.ts'
import { RESPONSE_HEADERS } from './headers.ts'
import { pathsOf } from './route.ts'
import { SERVER_LIMITS, listen } from '#api/server.ts'
import { ROUTES } from '#api/table.ts'

/** Sends the text, and returns everything that the server sends until it closes the connection. */
async function exchange(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  let received = ''
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1')
  })
  await once(socket, 'connect')
  socket.write(text, 'latin1')
  await once(socket, 'close')
  return received
}

/** Answers after the first bytes of a body. */
async function answerEarly(req: IncomingMessage, res: ServerResponse): Promise<void> {
  for await (const chunk of req) if (chunk !== null) break
  res.end('enough')
}

const isPage = (headers: Headers): boolean => headers.get('content-type')?.startsWith('text/html') === true

/** The document of the mail frame is framed by the dashboard, and mail has styles of its own. Its origin is opaque. */
function assertFrameHeaders(headers: Headers): void {
  const policy = headers.get('content-security-policy') ?? ''
  assert.match(policy, /^sandbox allow-scripts; default-src 'none'; script-src 'sha256-[^']+'; /)
  assert.match(policy, /frame-ancestors 'self'$/)
  assert.notMatch(policy, /allow-same-origin|script-src[^;]*unsafe/)
  assert.strictEqual(headers.get('x-frame-options'), 'SAMEORIGIN')
}

function assertSecurityHeaders(headers: Headers, what: string): void {
  for (const [name, value] of Object.entries(RESPONSE_HEADERS)) {
    const actual = headers.get(name)
    // a page and its resources may have a more specific policy
    if (name === 'Content-Security-Policy')
      assert.match(actual ?? '', /default-src 'none'.*frame-ancestors 'none'/, what)
    else if (name === 'Cache-Control') assert.ok(actual !== null, what)
    else assert.strictEqual(actual, value, `${what}: ${name}`)
  }
  const silent = ['server', 'x-powered-by', 'set-cookie', 'access-control-allow-credentials']
  for (const name of silent) assert.strictEqual(headers.get(name), null, what)
  assert.ok(headers.get('x-request-id') !== null, what)
  if (isPage(headers)) assert.ok(!headers.get('content-security-policy')?.includes('unsafe'), what)
}

describe('response headers', () => {
  let api: TestApi
  before(async () => {
    api = await startApi({ PUBLIC_URL: 'https://mail.example' })
  })
  after(() => api.stop())

  for (const spec of ROUTES)
    it(`${spec.method} ${spec.paths[0]}: has the security headers, whether it is refused or not`, async () => {
      const path = (pathsOf(spec)[0] ?? '').replace(/:\w+/g, '00000000-0000-7000-8000-000000000000')
      for (const key of [null, api.regular, api.admin]) {
        const headers = { accept: 'text/html', ...(key === null ? {} : { authorization: `Bearer ${key}` }) }
        const response = await fetch(api.url + path, { method: spec.method, headers, redirect: 'manual' })
        await response.body?.cancel()
        if (spec.name === 'mail-frame' && response.ok) assertFrameHeaders(response.headers)
        else assertSecurityHeaders(response.headers, `${spec.method} ${path} ${response.status}`)
        assert.match(response.headers.get('strict-transport-security') ?? '', /^max-age=\d{8}/)
      }
    })
  for (const ask of ['GET /', 'GET /nowhere', 'PUT /healthz', 'OPTIONS /api/v1/templates', 'DELETE /%00'])
    it(`${ask}, which does not exist: has the security headers`, async () => {
      const [method, path = ''] = ask.split(' ')
      const response = await fetch(api.url + path, { method: method ?? 'GET' })
      await response.body?.cancel()
      assertSecurityHeaders(response.headers, path)
    })
  it('invalid HTTP: has the security headers', async () => {
    const received = await exchange(api.port, 'HELLO\r\n\r\n')
    for (const [name, value] of Object.entries(RESPONSE_HEADERS))
      assert.ok(received.includes(`${name}: ${value}\r\n`), name)
  })
  it('returns a safe request id, and nothing else that the client sent', async () => {
    for (const [given, isRepeated] of [
      ['abc-123', true],
      ['a b', false],
      ['<script>', false],
      ['x'.repeat(200), false],
    ] as const) {
      const response = await fetch(`${api.url}/<b>${encodeURIComponent('"><script>')}?q=<i>`, {
        headers: { 'x-request-id': given },
      })
      assert.strictEqual(response.headers.get('x-request-id') === given, isRepeated)
      assert.ok(!/<script|<b>|<i>/.test(await response.text()))
    }
  })
  it('sends the same response whatever the Host and forwarded headers are', async () => {
    const plain = await exchange(
      api.port,
      'GET /openapi.json HTTP/1.1\r\nHost: a.example\r\nX-Request-Id: x\r\nConnection: close\r\n\r\n',
    )
    const claimed = await exchange(
      api.port,
      'GET /openapi.json HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: evil.example\r\n' +
        'X-Forwarded-Proto: http\r\nForwarded: host=evil.example\r\n' +
        'X-Original-URL: /metrics\r\nX-HTTP-Method-Override: DELETE\r\n' +
        'X-Request-Id: x\r\nConnection: close\r\n\r\n',
    )
    const bare = (received: string): string => received.replace(/^Date: .*\r\n/m, '')
    assert.strictEqual(bare(claimed), bare(plain))
  })
})

const HEALTHZ = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'
const post = (headers: string, body = ''): string =>
  `POST /s/x HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${headers}\r\n${body}`

/** Some pair of servers reads each in two ways. A second request follows each, which must not be answered. */
const AMBIGUOUS: readonly (readonly [why: string, text: string])[] = [
  ['a length and chunks', post('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n')],
  ['two lengths', post('Content-Length: 0\r\nContent-Length: 5\r\n')],
  ['a list of lengths', post('Content-Length: 0, 5\r\n')],
  ['a length with a sign', post('Content-Length: +0\r\n')],
  ['a length in hex', post('Content-Length: 0x0\r\n')],
  ['a length below zero', post('Content-Length: -1\r\n')],
  ['white space before the colon', post('Content-Length : 5\r\n')],
  ['chunks that are not last', post('Transfer-Encoding: chunked, identity\r\n', '0\r\n\r\n')],
  ['a coding nobody knows', post('Transfer-Encoding: xchunked\r\n', '0\r\n\r\n')],
  ['chunked by a control character', post('Transfer-Encoding: \x0bchunked\r\n', '0\r\n\r\n')],
  ['a folded header', post('X-A: b\r\n Content-Length: 5\r\n')],
  ['NUL in a header', post('X-A: a\0b\r\n')],
  ['a bare CR in a header', post('X-A: a\rContent-Length: 5\r\n')],
  ['a chunk size that is none', post('Transfer-Encoding: chunked\r\n', 'zz\r\n\r\n')],
  ['a chunk size beyond all', post('Transfer-Encoding: chunked\r\n', 'ffffffffffffffffff\r\n\r\n')],
  ['a chunk that is longer than it says', post('Transfer-Encoding: chunked\r\n', '1\r\nabc\r\n0\r\n\r\n')],
  ['no host', 'GET /healthz HTTP/1.1\r\n\r\n'],
  ['two hosts', 'GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n'],
  ['a version that is not ours', 'GET /healthz HTTP/3.7\r\nHost: x\r\n\r\n'],
  ['a line end without CR', 'GET /healthz HTTP/1.1\nHost: x\n\n'],
]

describe('an ambiguous request', () => {
  let api: TestApi
  before(async () => {
    api = await startApi()
  })
  after(() => api.stop())

  for (const [why, text] of AMBIGUOUS)
    it(`${why}: refused, and the connection closed before the next request is read`, async () => {
      const received = await exchange(api.port, text + HEALTHZ)
      assert.ok(!received.includes('alive'), received)
      assert.strictEqual(received.split('HTTP/1.1 ').length, 2, received)
      assert.match(received, /^HTTP\/1\.1 4\d\d [^]*"success":false/)
    })
  it('unusual but valid requests are answered', async () => {
    for (const text of [
      'GET http://elsewhere.example/healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
      'GET /healthz HTTP/1.0\r\n\r\n',
      'GET /healthz HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\nConnection: Upgrade, close\r\n\r\n',
      'GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: 200-maybe\r\nConnection: close\r\n\r\n',
      'GET /healthz HTTP/1.1\r\nHost: \r\nConnection: close\r\n\r\n',
    ])
      assert.match(await exchange(api.port, text), /^HTTP\/1\.1 200 [^]*alive/, text)
  })
  it('a tunnel is not opened', async () => {
    assert.ok(
      !(await exchange(api.port, 'CONNECT mail.example:25 HTTP/1.1\r\nHost: mail.example\r\n\r\n')).startsWith(
        'HTTP/1.1 2',
      ),
    )
    const traced = await exchange(
      api.port,
      'TRACE /healthz HTTP/1.1\r\nHost: x\r\nCookie: a=b\r\nConnection: close\r\n\r\n',
    )
    assert.match(traced, /^HTTP\/1\.1 405 (?![^]*Cookie: a=b)/)
  })
})

describe('a slow client', () => {
  const SHORT = {
    ...SERVER_LIMITS,
    headersTimeout: 100,
    requestTimeout: 200,
    connectionsCheckingInterval: 20,
    lingerMs: 50,
  }
  for (const [what, text] of [
    ['headers that never end', 'GET / HTTP/1.1\r\nHost: x\r\nX-'],
    ['a body that never ends', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nx'],
  ] as const)
    it(`${what}: 408 with an error body, and the connection is closed`, async () => {
      const server = await listen(
        { byPrefix: [], publicUrl: '', app: (req) => void req.resume() },
        { port: 0, host: '127.0.0.1', setting: 'HTTP_PORT', bounds: SHORT },
      )
      const received = await exchange(server.port, text)
      assert.match(received, /^HTTP\/1\.1 408 [^]*"error":"REQUEST_TIMEOUT"/)
      await server.stop(0)
    })
  it('a body that is read only in part: the response, and the connection is closed', async () => {
    const server = await listen(
      { byPrefix: [], publicUrl: '', app: (req, res) => void answerEarly(req, res) },
      { port: 0, host: '127.0.0.1', setting: 'HTTP_PORT', bounds: { ...SERVER_LIMITS, lingerMs: 50 } },
    )
    const received = await exchange(server.port, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nx')
    assert.match(received, /^HTTP\/1\.1 200 [^]*enough$/)
    await server.stop(0)
  })
})
