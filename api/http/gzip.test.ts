/** Responses in gzip, and files that are sent in gzip. property-*.test.ts sends any body to any route. */
import { randomBytes } from 'node:crypto'
import { createServer, request, type IncomingMessage } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { gunzipSync, gzipSync } from 'node:zlib'
import { assert } from 'chai'
import { startApi, textOf, type TestApi } from '#test/support/api.ts'
import { gunzipBytes, gunzipStream } from './gzip.ts'

interface RawResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
}

describe('gzip', () => {
  let api: TestApi
  before(async () => {
    api = await startApi()
  })
  after(() => api.stop())

  /** Unlike fetch, this neither asks for compression nor undoes it. */
  function get(path: string, headers: Record<string, string>, method = 'GET'): Promise<RawResponse> {
    return new Promise((resolve, reject) => {
      const auth = { authorization: `Bearer ${api.admin}` }
      const sent = request(api.url + path, { method, headers: { ...auth, ...headers } }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
        )
        response.on('error', reject)
      })
      sent.on('error', reject).end()
    })
  }

  it('compresses a large response for a client that accepts it', async () => {
    const plain = await get('/openapi.json', {})
    const packed = await get('/openapi.json', { 'accept-encoding': 'gzip, deflate, br' })
    assert.deepEqual(
      [plain.headers['content-encoding'], packed.headers['content-encoding'], packed.headers['vary']],
      [undefined, 'gzip', 'Accept-Encoding'],
    )
    assert.ok(packed.body.length * 4 < plain.body.length, `${packed.body.length} of ${plain.body.length}`)
    assert.deepEqual(JSON.parse(gunzipSync(packed.body).toString()), JSON.parse(plain.body.toString()))
    assert.strictEqual(Number(packed.headers['content-length']), packed.body.length)
    const head = await get('/openapi.json', { 'accept-encoding': 'gzip' }, 'HEAD')
    assert.deepEqual([head.headers['content-encoding'], head.body.length], ['gzip', 0])
  })
  it('a compressed response has a weak ETag, with which it is not sent again', async () => {
    const { headers } = await get('/openapi.json', { 'accept-encoding': 'gzip' })
    const etag = String(headers['etag'])
    assert.match(etag, /^W\//)
    const again = await get('/openapi.json', { 'accept-encoding': 'gzip', 'if-none-match': etag })
    assert.deepEqual([again.status, again.body.length, again.headers['content-encoding']], [304, 0, undefined])
  })
  const PLAIN: readonly (readonly [why: string, path: string, accepts: string])[] = [
    ['a small response', '/api/v1/integrations/verify', 'gzip'],
    ['a client that refuses gzip', '/openapi.json', 'gzip;q=0'],
    ['a client that knows another coding', '/openapi.json', 'br'],
  ]
  for (const [why, path, accepts] of PLAIN)
    it(`does not compress ${why}`, async () => {
      const { status, headers } = await get(path, { 'accept-encoding': accepts })
      assert.deepEqual([status, headers['content-encoding']], [200, undefined])
    })
  it('compresses a file that is streamed', async () => {
    const { body } = await api.call('POST', '/public/audiences/add-audience', { key: api.admin, body: { name: 'A' } })
    const path = `/api/v1/public/contacts/export?audienceId=${textOf(body['data']?.['id'])}`
    const [plain, packed] = await Promise.all([get(path, {}), get(path, { 'accept-encoding': 'gzip' })])
    assert.strictEqual(packed.headers['content-encoding'], 'gzip')
    assert.strictEqual(gunzipSync(packed.body).toString(), plain.body.toString())
  })

  const upload = (bytes: Uint8Array<ArrayBuffer>): Promise<Response> =>
    fetch(`${api.url}/api/v1/public/suppressions/import`, {
      method: 'POST',
      headers: { authorization: `Bearer ${api.admin}`, 'content-type': 'text/csv', 'content-encoding': 'gzip' },
      body: bytes,
    })
  it('the case of its media type does not matter', async () => {
    const headers = { 'content-type': 'Text/CSV' }
    const sent = { key: api.admin, body: 'email\ng@h.example\n', headers }
    assert.strictEqual((await api.call('POST', '/public/suppressions/import', sent)).status, 200)
  })
  it('a file may be compressed', async () => {
    const answer = await upload(gzipSync('email\na@b.example\nc@d.example\n'))
    assert.deepEqual([answer.status, ((await answer.json()) as { data: { added: number } }).data.added], [200, 2])
  })
  for (const [why, bytes] of [
    ['not gzip', () => Buffer.from('email\na@b.example\n')],
    ['cut', () => gzipSync('email\ne@f.example\n'.repeat(50)).subarray(0, -9)],
  ] as const)
    it(`a file that is ${why} is 400`, async () => {
      const answer = await upload(bytes())
      assert.deepEqual(
        [answer.status, ((await answer.json()) as { message: string }).message],
        [400, 'The request: the body is not valid gzip'],
      )
    })

  describe('an import of contacts', () => {
    const NO_AUDIENCE = '00000000-0000-7000-8000-000000000000'
    let audienceId: string
    before(async () => {
      const { body } = await api.call('POST', '/public/audiences/add-audience', { key: api.admin, body: { name: 'B' } })
      audienceId = textOf(body['data']?.['id'])
    })
    const contacts = gzipSync('email\na@b.example\n')
    const CASES: readonly (readonly [why: string, id: () => string, bytes: Buffer, status: number])[] = [
      ['that is gzip', () => audienceId, contacts, 201],
      ['that is not gzip', () => audienceId, Buffer.from('email\na@b.example\n'), 400],
      ['that is gzip, into an unknown audience', () => NO_AUDIENCE, contacts, 404],
      ['that is not gzip, into an unknown audience', () => NO_AUDIENCE, Buffer.from('email\na@b.example\n'), 404],
      ['that breaks after a header without an address', () => audienceId, brokenAfter('name\n'), 400],
    ]
    for (const [why, id, bytes, status] of CASES)
      it(`${why} is ${status}, and the api still responds`, async () => {
        const answer = await fetch(`${api.url}/api/v1/public/contacts/import?audienceId=${id()}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${api.admin}`, 'content-type': 'text/csv', 'content-encoding': 'gzip' },
          body: new Uint8Array(bytes),
        })
        assert.strictEqual(answer.status, status, await answer.text())
        assert.strictEqual((await get('/healthz', {})).status, 200)
      })
    for (const id of ['known', 'unknown'])
      it(`into an ${id} audience, whose client disconnects: the api still responds`, async () => {
        const socket = connect(api.port, '127.0.0.1')
        socket.write(
          `POST /api/v1/public/contacts/import?audienceId=${id === 'known' ? audienceId : NO_AUDIENCE} HTTP/1.1\r\n` +
            `Host: a\r\nAuthorization: Bearer ${api.admin}\r\nContent-Type: text/csv\r\n` +
            `Content-Encoding: gzip\r\nContent-Length: 1000\r\n\r\n`,
        )
        await new Promise((resolve) => socket.write(contacts.subarray(0, 15), resolve))
        await new Promise((resolve) => socket.once('close', resolve).destroy())
        assert.strictEqual((await get('/healthz', {})).status, 200)
      })
  })
})

/** A valid beginning, and later bytes that are not gzip. */
function brokenAfter(header: string): Buffer {
  const lines = gzipSync(
    header +
      randomBytes(300_000)
        .toString('hex')
        .replaceAll(/(.{60})/g, '$1\n'),
  )
  return Buffer.concat([lines.subarray(0, -9), Buffer.alloc(20, 0xff)])
}

describe('gunzipStream', () => {
  /** What `handle` returns for a request whose client has sent a part of its body and then waits. */
  async function serveCut<T>(handle: (req: IncomingMessage, disconnect: () => void) => Promise<T>): Promise<T> {
    const server = createServer()
    try {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
      socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n')
      socket.write(gzipSync('abc').subarray(0, 12))
      return await new Promise<T>((resolve, reject) => {
        server.once('request', (req) => handle(req, () => socket.destroy()).then(resolve, reject))
      })
    } finally {
      server.closeAllConnections()
      server.close()
    }
  }
  const closed = (req: IncomingMessage): Promise<void> =>
    new Promise((resolve) => {
      req.once('close', () => resolve())
    })
  const failureOf = (read: Promise<unknown>): Promise<string> => read.then(() => 'no error', String)

  it('fails if the client disconnected before', async () => {
    const failure = await serveCut(async (req, disconnect) => {
      disconnect()
      await closed(req)
      return failureOf(buffer(gunzipStream(req, 100)))
    })
    assert.strictEqual(failure, 'Error: the request ended early')
  })
  it('fails if the client disconnects before it is read', async () => {
    const failure = await serveCut(async (req, disconnect) => {
      const body = gunzipStream(req, 100)
      disconnect()
      await closed(req)
      return failureOf(buffer(body))
    })
    assert.strictEqual(failure, 'Error: the request ended early')
  })
  it('fails if the client disconnects while it is read', async () => {
    const failure = await serveCut((req, disconnect) => {
      const read = failureOf(buffer(gunzipStream(req, 100)))
      disconnect()
      return read
    })
    assert.strictEqual(failure, 'Error: the request ended early')
  })
  it('does not end the process if it is abandoned', async () => {
    await serveCut(async (req, disconnect) => {
      const body = gunzipStream(req, 100)
      const abandoned = new Promise((resolve) => body.once('close', resolve))
      body.resume() // without a listener for errors
      req.once('data', disconnect)
      await abandoned
    })
  })
})

describe('gunzipBytes', () => {
  it('stops at its limit, and where there is no memory', async () => {
    const bomb = gzipSync(Buffer.alloc(5_000_000))
    let kept = 0
    const keep = (bytes: number): boolean => (kept += bytes) <= 200_000
    assert.strictEqual(await gunzipBytes(bomb, 100_000, keep), 'too-large')
    assert.ok(kept <= 100_000)
    kept = 0
    assert.strictEqual(await gunzipBytes(bomb, 10_000_000, keep), 'no-memory')
    assert.strictEqual(await gunzipBytes(Buffer.from('x'), 100, keep), 'not-gzip')
    assert.deepEqual(await gunzipBytes(gzipSync('abc'), 100, () => true), Buffer.from('abc'))
    assert.deepEqual(await gunzipBytes(Buffer.concat([gzipSync('a'), gzipSync('b')]), 9, () => true), Buffer.from('ab'))
  })
})
