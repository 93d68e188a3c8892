import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { assert } from 'chai'
import { OPEN, REQUEST, reasonOf } from './http-client.test-data.ts'
import { createHttpClient } from './http-client.ts'

/** Servers that speak something near HTTP: text in, what came of it. */
describe('HTTP client: raw responses', () => {
  const cases: readonly (readonly [string, string, string])[] = [
    ['a plain answer', 'HTTP/1.1 204 No Content\r\n\r\n', 'status 204'],
    [
      'an answer after 103',
      'HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n',
      'status 200',
    ],
    ['an upgrade', 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n', 'broken'],
    ['a half header', 'HTTP/1.1 200 OK\r\ncontent-le', 'broken'],
    ['a cut body', 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc', 'status 200'],
    ['something else', '220 mail.example ESMTP\r\n', 'broken'],
    ['too many headers', `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(50_000)}\r\n`, 'broken'],
    ['nothing', '', 'broken'],
  ]
  let server: Server
  let text = ''
  const sockets = new Set<Socket>()
  before((done) => {
    server = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => undefined).once('data', () => socket.end(text))
    })
    server.listen(0, '127.0.0.1', done)
  })
  after((done) => {
    for (const socket of sockets) socket.destroy()
    server.close(() => done())
  })
  for (const [name, said, expected] of cases) {
    it(name, async () => {
      text = said
      const outgoing = createHttpClient(OPEN)
      assert.strictEqual(
        reasonOf(await outgoing.post(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, REQUEST)),
        expected,
      )
      outgoing.close()
    })
  }

  it('slow headers do not exceed the timeout', async () => {
    const drip = createServer((socket) => {
      sockets.add(socket)
      const more = setInterval(() => socket.write('x: y\r\n'), 20)
      socket
        .on('error', () => undefined)
        .on('close', () => clearInterval(more))
        .write('HTTP/1.1 200 OK\r\n')
    })
    await new Promise<void>((resolve) => drip.listen(0, '127.0.0.1', resolve))
    const outgoing = createHttpClient(OPEN)
    assert.strictEqual(
      reasonOf(
        await outgoing.post(`http://127.0.0.1:${(drip.address() as AddressInfo).port}/`, {
          ...REQUEST,
          timeoutMs: 200,
        }),
      ),
      'timeout',
    )
    outgoing.close()
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => drip.close(resolve))
  })
})
