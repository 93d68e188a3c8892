/** Bodies in chunks, of clients that send too much, too little or nothing. */
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import fc from 'fast-check'
import { collectBody, type CollectedOctets } from './body-collector.ts'

const LIMIT = 300_000

describe('collecting a body', () => {
  let server: Server
  let port = 0
  /** Of the request that comes next. */
  let collected: Promise<CollectedOctets>
  let requests: ((req: IncomingMessage) => void)[]
  before(async () => {
    requests = []
    server = createServer((req, res) => {
      requests.shift()?.(req)
      void collected.then(() => res.end())
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    port = (server.address() as AddressInfo).port
  })
  after(() => {
    server.closeAllConnections()
    server.close()
  })

  function open(header: string): Socket {
    const { promise, resolve } = Promise.withResolvers<CollectedOctets>()
    collected = promise
    requests.push((req) => void collectBody(req, LIMIT).then(resolve))
    const socket = connect(port, '127.0.0.1').on('error', () => undefined)
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${header}\r\n\r\n`)
    return socket
  }

  const chunked = (chunk: Buffer): Buffer =>
    Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')])
  const END = Buffer.from('0\r\n\r\n')

  const chunks = fc.array(
    fc
      .record({
        length: fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 40_000 })),
        octet: fc.nat(255),
      })
      .map(({ length, octet }) => Buffer.alloc(length, octet)),
    { maxLength: 6 },
  )

  it('returns the octets that were sent, in any chunks, with and without Content-Length', () =>
    fc.assert(
      fc.asyncProperty(chunks, fc.boolean(), fc.boolean(), async (parts, hasLength, isSlow) => {
        const whole = Buffer.concat(parts)
        const socket = open(hasLength ? `Content-Length: ${whole.length}` : 'Transfer-Encoding: chunked')
        for (const part of parts) {
          socket.write(hasLength ? part : chunked(part))
          if (isSlow) await sleep(1)
        }
        if (!hasLength) socket.write(END)
        const octets = await collected
        assert.isTrue(Buffer.isBuffer(octets) && octets.equals(whole))
        socket.destroy()
      }),
      { numRuns: 60 },
    ))

  const cases: readonly [what: string, send: (socket: Socket) => void, result: string | number][] = [
    ['as much as is allowed', (socket) => socket.end(Buffer.concat([chunked(Buffer.alloc(LIMIT, 'x')), END])), LIMIT],
    ['an octet more', (socket) => socket.write(chunked(Buffer.alloc(LIMIT + 1, 'x'))), 'too-large'],
    [
      'a part, and disconnects',
      (socket) => socket.write(chunked(Buffer.alloc(9, 'x')), () => socket.destroy()),
      'ended-early',
    ],
    ['a part, and closes its side', (socket) => socket.end(chunked(Buffer.alloc(9, 'x'))), 'ended-early'],
    ['nothing, and disconnects', (socket) => socket.destroySoon(), 'ended-early'],
  ]
  for (const [what, send, result] of cases)
    it(`a client that sends ${what}: ${result}`, async () => {
      send(open('Transfer-Encoding: chunked'))
      const octets = await collected
      assert.strictEqual(Buffer.isBuffer(octets) ? octets.length : octets, result)
    })

  it('returns at once for a request whose client has gone', async () => {
    const { promise, resolve } = Promise.withResolvers<CollectedOctets>()
    const arrived = Promise.withResolvers<void>()
    const gone = Promise.withResolvers<void>()
    collected = promise
    requests.push((req) => {
      arrived.resolve()
      req.once('close', () => {
        gone.resolve()
        void collectBody(req, LIMIT).then(resolve)
      })
    })
    const socket = connect(port, '127.0.0.1')
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx')
    await arrived.promise
    socket.destroy()
    await gone.promise
    assert.strictEqual(await collected, 'ended-early')
  })
})
