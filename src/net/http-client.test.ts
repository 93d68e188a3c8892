import { assert } from 'chai'
import { cidrs } from '#config/settings/readers.ts'
import { OPEN, REQUEST, reasonOf } from './http-client.test-data.ts'
import { createHttpClient, type HttpClient, type HttpResult } from './http-client.ts'
import { startDns, type TestDns } from '#test/support/dns.ts'
import {
  respondWith,
  resetConnection,
  neverRespond,
  startWebhookReceiver,
  type WebhookReceiver,
} from '#test/support/webhook-receiver.ts'

describe('HTTP client: addresses', () => {
  let receiver: WebhookReceiver
  let outgoing: HttpClient
  before(async () => {
    receiver = await startWebhookReceiver()
    outgoing = createHttpClient({ ...OPEN, allowPrivateTargets: [] })
  })
  after(async () => {
    outgoing.close()
    await receiver.close()
  })

  // every spelling of 127.0.0.1 and friends, with the real port of a listening receiver
  for (const host of [
    '127.0.0.1',
    '0x7f.1',
    '0x7f000001',
    '2130706433',
    '017700000001',
    '127.1',
    '127.0.0.1.',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::]',
    '0.0.0.0',
    '0',
    '10.0.0.1',
    '169.254.169.254',
    '[fe80::1]',
    '[fc00::1]',
    '[64:ff9b::7f00:1]',
    '１２７.０.０.１',
    'localhost',
  ]) {
    it(`${host} is not reached`, async () => {
      const reason = reasonOf(await outgoing.post(`http://${host}:${receiver.port}/`, REQUEST))
      assert.strictEqual(reason, host === 'localhost' ? 'name' : 'forbidden')
      assert.strictEqual(receiver.connections, 0)
    })
  }

  for (const url of [
    'ftp://example.com/',
    'file:///etc/passwd',
    'http://user:pass@example.com/',
    'http://user@example.com/',
    'javascript:1',
    'not an address',
    '',
    'http://',
    'toString:x',
    'gopher://127.0.0.1/',
  ])
    it(`${JSON.stringify(url)} is rejected as a URL`, async () =>
      assert.strictEqual(reasonOf(await outgoing.post(url, REQUEST)), 'bad-url'))
})

describe('HTTP client: DNS', () => {
  let receiver: WebhookReceiver
  let dns: TestDns
  let outgoing: HttpClient
  before(async () => {
    receiver = await startWebhookReceiver()
    dns = await startDns({})
    outgoing = createHttpClient({ ...OPEN, allowPrivateTargets: cidrs('127.0.0.1'), dnsServers: [dns.server] })
  })
  after(async () => {
    outgoing.close()
    await receiver.close()
    await dns.stop()
  })

  it('queries the configured servers', async () => {
    dns.zone['hooks.example'] = { A: ['127.0.0.1'] }
    assert.strictEqual(
      reasonOf(await outgoing.post(`http://hooks.example:${receiver.port}/in?x=1`, REQUEST)),
      'status 200',
    )
    const [request] = await receiver.received(1)
    assert.strictEqual(request?.path, '/in?x=1')
    assert.strictEqual(request.body, REQUEST.body)
    assert.strictEqual(request.headers.host, `hooks.example:${receiver.port}`)
  })

  it('queries the system resolver in the sandbox, whose DNS server knows only itself', async () => {
    const sandboxed = createHttpClient({ ...OPEN, dnsServers: [dns.server], isSandbox: true })
    const asked = dns.queries.length
    assert.strictEqual(reasonOf(await sandboxed.post(`http://localhost:${receiver.port}/`, REQUEST)), 'status 200')
    assert.strictEqual(dns.queries.length, asked)
    sandboxed.close()
  })

  it('a name that does not exist fails as `name`', async () => {
    assert.strictEqual(reasonOf(await outgoing.post('http://nowhere.example/', REQUEST)), 'name')
  })

  it('a name with only private addresses fails like a name that does not exist', async () => {
    dns.zone['inside.example'] = { A: ['10.0.0.1', '127.0.0.2'], AAAA: ['::1', '::ffff:127.0.0.2'] }
    dns.zone['empty.example'] = { TXT: ['x'] }
    const failures = await Promise.all(
      ['inside', 'empty', 'absent'].map((name) => outgoing.post(`http://${name}.example:${receiver.port}/`, REQUEST)),
    )
    const texts = failures.map((result) => (result.ok ? 'connected' : `${result.reason} ${result.detail}`))
    assert.deepEqual(
      texts,
      ['inside', 'empty', 'absent'].map((name) => `name ${name}.example has no public address`),
    )
  })

  it('uses one address family when the other does not respond', async () => {
    dns.zone['half.example'] = { A: ['127.0.0.1'], fault: { AAAA: 'silence' } }
    assert.strictEqual(
      reasonOf(await outgoing.post(`http://half.example:${receiver.port}/`, { ...REQUEST, timeoutMs: 1000 })),
      'status 200',
    )
  })

  it('a DNS server that does not respond costs at most the timeout', async () => {
    dns.zone['silent.example'] = { fault: 'silence' }
    assert.strictEqual(
      reasonOf(await outgoing.post('http://silent.example/', { ...REQUEST, timeoutMs: 100 })),
      'timeout',
    )
  })

  it('connects to the allowed address of several', async () => {
    dns.zone['both.example'] = { A: ['127.0.0.2', '127.0.0.1'] }
    assert.strictEqual(reasonOf(await outgoing.post(`http://both.example:${receiver.port}/`, REQUEST)), 'status 200')
  })

  it('checks a rebound name again at the new connection', async () => {
    receiver.setBehaviour(respondWith(200, '', { connection: 'close' }))
    dns.zone['rebind.example'] = { A: ['127.0.0.1'], ttl: 0 }
    const url = `http://rebind.example:${receiver.port}/`
    assert.strictEqual(reasonOf(await outgoing.post(url, REQUEST)), 'status 200')
    dns.zone['rebind.example'] = { A: ['127.0.0.2'], ttl: 0 }
    const before = receiver.connections
    const seen = new Set<string>()
    for (let i = 0; i < 30 && !seen.has('name'); i++) {
      seen.add(reasonOf(await outgoing.post(url, REQUEST)))
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    assert.ok(seen.has('name'), [...seen].join())
    assert.ok(receiver.connections >= before)
  })
})

describe('HTTP client: requests', () => {
  let receiver: WebhookReceiver
  let outgoing: HttpClient
  beforeEach(async () => {
    receiver = await startWebhookReceiver()
    outgoing = createHttpClient(OPEN)
  })
  afterEach(async () => {
    outgoing.close()
    await receiver.close()
  })

  it('reuses a connection', async () => {
    for (let i = 0; i < 5; i++) assert.strictEqual(reasonOf(await outgoing.post(receiver.url, REQUEST)), 'status 200')
    assert.strictEqual(receiver.connections, 1)
  })

  it('does not follow redirects', async () => {
    receiver.setBehaviour(respondWith(302, 'elsewhere', { location: `${receiver.url}/private` }))
    const posted = await outgoing.post(receiver.url, REQUEST)
    assert.deepEqual(
      { ...posted, body: posted.ok && posted.body, durationMs: 0 },
      {
        ok: true,
        status: 302,
        bytes: Buffer.from('elsewhere'),
        body: 'elsewhere',
        isComplete: true,
        isTimedOut: false,
        location: `${receiver.url}/private`,
        contentType: null,
        contentEncoding: null,
        durationMs: 0,
      },
    )
    assert.strictEqual(receiver.requests.length, 1)
  })

  it('returns 4 KB of the response as text that can be stored', async () => {
    receiver.setBehaviour(respondWith(200, `\0${'ä'.repeat(5000)}`))
    const posted = await outgoing.post(receiver.url, REQUEST)
    assert.strictEqual(posted.ok && posted.body, 'ä'.repeat(2047))
  })

  it('ends although the body never does', async () => {
    receiver.setBehaviour((_, response) => {
      response.writeHead(200)
      const more = setInterval(() => response.write('x'.repeat(16_384)), 1)
      response.on('close', () => clearInterval(more))
    })
    assert.strictEqual(reasonOf(await outgoing.post(receiver.url, REQUEST)), 'status 200')
  })

  it('ends in time if the server sends the body slowly; the status counts', async () => {
    receiver.setBehaviour((_, response) => {
      response.writeHead(500)
      const more = setInterval(() => response.write('.'), 20)
      response.on('close', () => clearInterval(more))
    })
    const posted = await outgoing.post(receiver.url, { ...REQUEST, timeoutMs: 300 })
    assert.ok(posted.ok && posted.status === 500 && posted.isTimedOut && /^\.+$/.test(posted.body))
  })

  it('ends in time if the server never responds', async () => {
    receiver.setBehaviour(neverRespond)
    const posted = await outgoing.post(receiver.url, { ...REQUEST, timeoutMs: 100 })
    assert.deepEqual(
      { ...posted, durationMs: 0 },
      { ok: false, reason: 'timeout', detail: 'no response within 0.1 s', durationMs: 0 },
    )
  })

  it('reports a dropped connection', async () => {
    receiver.setBehaviour(resetConnection)
    assert.strictEqual(reasonOf(await outgoing.post(receiver.url, REQUEST)), 'broken')
    assert.strictEqual(receiver.requests.length, 1)
  })

  // the server may have read the request, and a POST that is repeated is handled twice
  for (const { method, body, reads, result } of [
    { method: 'post', body: '{"a":"é"}', reads: 1, result: 'broken' },
    { method: 'post', body: 'x'.repeat(2_000_000), reads: 1, result: 'broken' },
    { method: 'get', body: '', reads: 2, result: 'status 200' },
  ] as const) {
    it(`a reused connection is reset after a ${method} of ${body.length} bytes was read ${reads} times`, async () => {
      const send = (): Promise<HttpResult> =>
        method === 'get'
          ? outgoing.get(receiver.url, { headers: {}, timeoutMs: 5000, maxBytes: 100 })
          : outgoing.post(receiver.url, { ...REQUEST, body })
      assert.strictEqual(reasonOf(await send()), 'status 200')
      receiver.setBehaviour((request, response) =>
        (receiver.requests.length === 2 ? resetConnection : respondWith(200))(request, response),
      )
      assert.strictEqual(reasonOf(await send()), result)
      assert.strictEqual(receiver.requests.length, 1 + reads)
      assert.strictEqual(receiver.connections, reads)
    })
  }

  it('reports a closed port', async () => {
    await receiver.close()
    assert.strictEqual(reasonOf(await outgoing.post(receiver.url, REQUEST)), 'connect')
  })
})
