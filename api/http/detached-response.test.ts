import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { assert } from 'chai'
import { startApi, type TestApi } from '#test/support/api.ts'
import { certificateFor } from '#test/support/certificate.ts'
import { freePort } from '#test/support/free-ports.ts'
import { until } from '#test/support/until.ts'

/** A raw connection, for what clients send and get byte by byte. */
interface RawClient {
  readonly socket: Socket
  readonly text: string
  readonly isClosed: boolean
}

describe('a response that is detached from its request', () => {
  let api: TestApi
  let tlsPort: number
  const sockets: Socket[] = []
  const dir = mkdtempSync(join(tmpdir(), 'mailstead-detached-'))
  before(async () => {
    const { cert, key } = await certificateFor(['localhost'])
    const files = [
      ['TLS_CERT_FILE', cert],
      ['TLS_KEY_FILE', key],
    ] as const
    for (const [name, pem] of files) writeFileSync(join(dir, name), pem, { mode: 0o600 })
    tlsPort = await freePort()
    api = await startApi({
      HTTPS_PORT: String(tlsPort),
      ...Object.fromEntries(files.map(([name]) => [name, join(dir, name)])),
    })
  })
  afterEach(() => sockets.splice(0).forEach((socket) => socket.destroy()))
  after(async () => {
    await api.stop()
    rmSync(dir, { recursive: true })
  })

  function dial(sent: string): Promise<RawClient> {
    return talk(connect(api.port, '127.0.0.1'), 'connect', sent)
  }

  function dialTls(sent: string): Promise<RawClient> {
    const socket = connectTls({ port: tlsPort, host: '127.0.0.1', servername: 'localhost', rejectUnauthorized: false })
    return talk(socket, 'secureConnect', sent)
  }

  async function talk(socket: Socket, begun: string, sent: string): Promise<RawClient> {
    sockets.push(socket)
    const client = { socket, text: '', isClosed: false }
    socket.setEncoding('utf8').on('data', (chunk: string) => (client.text += chunk))
    socket.on('error', () => undefined).once('close', () => (client.isClosed = true))
    await once(socket, begun)
    socket.write(sent)
    return client
  }
  const ask = (path: string, version = '1.1'): string =>
    `GET /api/v1/${path} HTTP/${version}\r\nHost: x\r\nAuthorization: Bearer ${api.admin}\r\n\r\n`
  const STREAM = 'public/changes?topics=messages'
  const isReady = ({ text }: RawClient): boolean => text.includes('event: ready')

  it('has the headers of every response, and is in chunks', async () => {
    const client = await dial(ask(STREAM))
    await until(() => isReady(client))
    const [head = '', body = ''] = client.text.split(/\r\n\r\n(.*)/s)
    const [line, ...fields] = head.split('\r\n')
    assert.strictEqual(line, 'HTTP/1.1 200 OK')
    const headers = new Map(fields.map((field) => field.split(/: (.*)/s) as [string, string]))
    assert.strictEqual(headers.get('transfer-encoding'), 'chunked')
    assert.strictEqual(headers.get('connection'), 'close')
    assert.strictEqual(headers.get('content-type'), 'text/event-stream; charset=utf-8')
    assert.strictEqual(headers.get('x-content-type-options'), 'nosniff')
    assert.isNotNaN(Date.parse(headers.get('date') ?? ''))
    assert.isTrue(headers.has('x-request-id'))
    const [, size = '', chunk = ''] = /^([\da-f]+)\r\n(.*)$/s.exec(body) ?? []
    assert.match(chunk.slice(0, Number.parseInt(size, 16)), /^retry: \d+\n\nevent: ready\n.*\n\n$/s)
  })

  it('has no chunks for HTTP/1.0, and none of a body for HEAD', async () => {
    const old = await dial(ask(STREAM, '1.0'))
    await until(() => isReady(old))
    assert.match(old.text, /\r\n\r\nretry: \d+\n\nevent: ready\n/)
    assert.notMatch(old.text, /transfer-encoding/i)
    const head = await dial(ask(STREAM).replace('GET', 'HEAD'))
    await until(() => head.text.includes('\r\n\r\n'))
    assert.match(head.text, /^HTTP\/1\.1 200 OK\r\n.*\r\n\r\n$/s)
  })

  it('has the connection for itself: a further request closes it', async () => {
    const clients = [await dial(ask(STREAM)), await dial(ask(STREAM)), await dial(ask(STREAM))] as const
    await until(() => clients.every(isReady))
    clients[0].socket.write(ask('integrations/verify'))
    clients[1].socket.write('no HTTP at all\r\n\r\n')
    clients[2].socket.end()
    await until(() => clients.every(({ isClosed }) => isClosed))
    for (const { text } of clients) assert.lengthOf(text.match(/HTTP\/1\.1 /g) ?? [], 1)
  })

  it('works over TLS: a change arrives, a further request closes the connection, and a client may leave', async () => {
    const clients = [await dialTls(ask(STREAM)), await dialTls(ask(STREAM))] as const
    await until(() => clients.every(isReady))
    const mail = { from: `me@${api.domain}`, to: 'a@b.example', subject: 's', body: 'x' }
    assert.strictEqual((await api.call('POST', '/send-email/normal', { body: mail })).status, 200)
    await until(() => clients.every(({ text }) => text.includes('event: messages')))
    clients[0].socket.write(ask('integrations/verify'))
    clients[1].socket.end()
    await until(() => clients.every(({ isClosed }) => isClosed))
    for (const { text } of clients) assert.lengthOf(text.match(/HTTP\/1\.1 /g) ?? [], 1)
  })

  it('never mixes with the responses to other requests that were sent at once', async () => {
    const [before, after] = [
      await dial(ask('integrations/verify') + ask(STREAM)),
      await dial(ask(STREAM) + ask('integrations/verify')),
    ]
    await until(() => after.isClosed)
    await until(() => before.isClosed || isReady(before))
  })
})
