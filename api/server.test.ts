import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { loadConfig } from '#config/load.ts'
import { startApi, type TestApi } from '#test/support/api.ts'
import { createDatabase, startPostgres, startRedis } from '#test/support/stores.ts'
import { until } from '#test/support/until.ts'
import { main } from './main.ts'

/** A raw connection to the server. */
async function dial(port: number): Promise<{ socket: Socket; readonly read: () => string; ended: Promise<unknown> }> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
  })
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  // Not once(): it would reject at ECONNRESET, which is how a server closes a connection that still sends.
  const ended = new Promise((resolve) => socket.once('close', resolve))
  return { socket, read: () => text, ended }
}

const head = (line: string, fields: Record<string, string | number>): string =>
  `${line}\r\n${Object.entries(fields)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`
const sendHead = (fields: Record<string, string | number> = {}): string =>
  head('POST /api/v1/send-email/instant HTTP/1.1', { Host: 'x', 'Content-Type': 'application/json', ...fields })

describe('the HTTP server', () => {
  let api: TestApi
  before(async () => {
    api = await startApi()
  })
  after(() => api.stop())

  it('answers with an error body to invalid HTTP', async () => {
    const { socket, read, ended } = await dial(api.port)
    socket.write('EHLO mail.example\r\n\r\n')
    await ended
    assert.match(read(), /^HTTP\/1\.1 400 .*\r\n\r\n\{"success":false,"error":"VALIDATION_ERROR",/s)
    const { request_id: id = '', doc_url: url = '' } = JSON.parse(read().split('\r\n\r\n')[1] ?? '') as Record<
      string,
      string
    >
    assert.ok(read().includes(`X-Request-Id: ${id}\r\n`) && url.endsWith('/docs/errors#VALIDATION_ERROR'), read())
  })
  it('answers 431 to endless headers', async () => {
    const { socket, read, ended } = await dial(api.port)
    socket.write(`GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(20_000)}`)
    await ended
    assert.match(read(), /^HTTP\/1\.1 431 .*"error":"HEADERS_TOO_LARGE"/s)
  })
  it('answers 413 to a declared length without waiting for the body', async () => {
    const { socket, read } = await dial(api.port)
    socket.write(sendHead({ Authorization: `Bearer ${api.regular}`, 'Content-Length': 900_000_000 }))
    await until(() => read().includes('"error":"PAYLOAD_TOO_LARGE"'))
    assert.match(read(), /^HTTP\/1\.1 413 /)
    socket.destroy()
  })
  it('answers 401 before the body, and reads the rest for a limited time', async () => {
    const { socket, read, ended } = await dial(api.port)
    socket.write(sendHead({ 'Content-Length': 1_000_000 }))
    await until(() => read().includes('"error":"UNAUTHORIZED"'))
    const drip = setInterval(() => socket.write(' '), 100)
    await ended
    clearInterval(drip)
  })
  it('answers 413 to a chunked body that does not end', async () => {
    const request = httpRequest({
      port: api.port,
      host: '127.0.0.1',
      method: 'POST',
      path: '/api/v1/send-email/instant',
      headers: { authorization: `Bearer ${api.regular}`, 'content-type': 'application/json' },
    })
    request.on('error', () => undefined)
    const answered = once(request, 'response') as Promise<[{ statusCode: number; destroy(): void }]>
    const chunk = Buffer.alloc(1_000_000, ' ')
    let isAnswered = false
    void answered.then(() => {
      isAnswered = true
    })
    while (!isAnswered) {
      if (!request.write(chunk)) await Promise.race([once(request, 'drain'), answered])
      await sleep(0)
    }
    const [response] = await answered
    assert.strictEqual(response.statusCode, 413)
    response.destroy()
    request.destroy()
  })
  it('sends 100 Continue only to a request that it will read', async () => {
    const accepted = await dial(api.port)
    accepted.socket.write(
      sendHead({ Authorization: `Bearer ${api.regular}`, 'Content-Length': 2, Expect: '100-continue' }),
    )
    await until(() => accepted.read().startsWith('HTTP/1.1 100 Continue'))
    accepted.socket.write('{}')
    await until(() => accepted.read().includes('HTTP/1.1 400 '))
    const unwanted = await dial(api.port)
    unwanted.socket.write(sendHead({ 'Content-Length': 2, Expect: '100-continue' }))
    await until(() => unwanted.read().includes('"error":"UNAUTHORIZED"'))
    assert.ok(!unwanted.read().includes('100 Continue'))
    accepted.socket.destroy()
    unwanted.socket.destroy()
  })
  it('keeps a connection open for more requests, also after a refusal', async () => {
    const { socket, read } = await dial(api.port)
    const body = '{}'
    const one = sendHead({ Authorization: `Bearer ${api.regular}`, 'Content-Length': body.length }) + body
    socket.write(one + one + sendHead({ 'Content-Length': body.length }) + body + one)
    await until(() => read().split('HTTP/1.1 ').length === 5)
    assert.deepEqual(
      read()
        .split('HTTP/1.1 ')
        .slice(1)
        .map((answer) => answer.slice(0, 3)),
      ['400', '400', '401', '400'],
    )
    socket.destroy()
  })
})

describe('the api process', () => {
  it('names the port and its setting when the port is in use, and leaves nothing open', async () => {
    const [database, redis] = await Promise.all([createDatabase(), startRedis()])
    const blocker = createServer().listen(0, '127.0.0.1')
    await once(blocker, 'listening')
    const { port } = blocker.address() as AddressInfo
    const config = loadConfig({
      DATABASE_URL: database.url,
      REDIS_URL: redis.url,
      HTTP_PORT: String(port),
      HTTP_HOST: '127.0.0.1',
      MASTER_KEY: '5a'.repeat(32),
      LOG_LEVEL: 'silent',
    })
    await assert.isRejected(main(config), new RegExp(`port ${port} is in use.*HTTP_PORT`))
    blocker.close()
    await redis.stop()
    await database.drop()
  })

  it('starts while Redis is away, accepts mail, is not ready, and becomes ready when Redis is back', async () => {
    const api = await startApi({ REDIS_URL: 'unix:///nonexistent/redis.sock' })
    try {
      const ready = await api.call('GET', '//readyz')
      const checks = { postgres: 'ok', migrations: 'ok', redis: 'away', clock: 'ok', node: 'ok' }
      assert.deepEqual([ready.status, ready.body], [503, { status: 'not ready', checks }])
      assert.strictEqual((await api.call('GET', '//healthz')).status, 200)
      assert.strictEqual(
        (
          await api.call('POST', '/send-email/instant', {
            body: { from: `me@${api.domain}`, to: 'a@b.example', subject: 's', body: 'x' },
          })
        ).status,
        200,
      )
      assert.strictEqual((await api.call('GET', '/integrations/verify')).headers.get('x-ratelimit-limit'), '100000')
    } finally {
      await api.stop()
    }
  })

  it('continues without Redis, and is ready again when it is back', async () => {
    const api = await startApi()
    await until(async () => (await api.call('GET', '//readyz')).status === 200)
    await api.redis.crash()
    await until(async () => (await api.call('GET', '//readyz')).status === 503)
    assert.strictEqual(
      (
        await api.call('POST', '/send-email/instant', {
          body: { from: `me@${api.domain}`, to: 'a@b.example', subject: 's', body: 'x' },
        })
      ).status,
      200,
    )
    await api.redis.restart()
    await until(async () => (await api.call('GET', '//readyz')).status === 200)
    await api.stop()
  })

  it('reports pending migrations', async () => {
    const api = await startApi()
    const {
      rows: [last],
    } = await api.db.query<{ name: string }>(
      'DELETE FROM migrations WHERE id = (SELECT max(id) FROM migrations) RETURNING name',
    )
    const { status, body } = await api.call('GET', '//readyz')
    assert.deepEqual([status, body['checks']?.['migrations']], [503, `pending: ${last?.name}`])
    await api.stop()
  })

  it('without PostgreSQL: alive, not ready, 503 with Retry-After, never a 2xx; recovers when it is back', async () => {
    const postgres = await startPostgres()
    const api = await startApi({}, postgres.url)
    const send = (): ReturnType<TestApi['call']> =>
      api.call('POST', '/send-email/instant', {
        body: { from: `me@${api.domain}`, to: 'a@b.example', subject: 's', body: 'x' },
      })
    assert.strictEqual((await send()).status, 200)
    await postgres.crash()
    // a session outlives its killed postmaster for a moment, and its commits then are durable
    await until(async () => (await send()).status !== 200)
    for (let i = 0; i < 3; i++) {
      const { status, body, headers } = await send()
      assert.deepEqual(
        [status, body['error'], Number(headers.get('retry-after')) > 0],
        [503, 'SERVICE_UNAVAILABLE', true],
      )
    }
    const batch = await api.call('POST', '/send-email/batch', {
      body: { messages: [{ from: `me@${api.domain}`, to: 'a@b.example', subject: 's', body: 'x' }] },
    })
    assert.deepEqual([batch.status, batch.body['error']], [503, 'SERVICE_UNAVAILABLE'])
    assert.strictEqual(
      (await api.call('GET', '/public/emails/get-email?id=em_00000000000070008000000000000000')).status,
      503,
    )
    assert.strictEqual((await api.call('GET', '//healthz')).status, 200)
    const ready = await api.call('GET', '//readyz')
    assert.deepEqual([ready.status, ready.body['checks']?.['postgres']], [503, 'away'])
    await postgres.restart()
    await until(async () => (await api.call('GET', '//readyz')).status === 200)
    await until(async () => (await send()).status === 200)
    await api.stop()
    await postgres.stop()
  })

  it('stops in order: finishes running requests, closes connections, accepts no new ones', async () => {
    const api = await startApi()
    const { socket, read, ended } = await dial(api.port)
    const idle = await dial(api.port)
    idle.socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
    await until(() => idle.read().includes('alive'))
    const body = JSON.stringify({ from: `me@${api.domain}`, to: 'a@b.example', subject: 's', body: 'x' })
    socket.write(
      sendHead({ Authorization: `Bearer ${api.regular}`, 'Content-Length': body.length }) + body.slice(0, 10),
    )
    await sleep(50)
    const stopped = api.stop()
    await idle.ended
    await assert.isRejected(fetch(`${api.url}/healthz`))
    socket.write(body.slice(10))
    await ended
    assert.match(read(), /^HTTP\/1\.1 200 .*Connection: close.*"status":"queued"/s)
    await stopped
  })
})
