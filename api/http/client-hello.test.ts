import { once } from 'node:events'
import { connect as connectPlain, createServer, type AddressInfo, type Socket } from 'node:net'
import { connect } from 'node:tls'
import { assert } from 'chai'
import fc from 'fast-check'
import { readClientHello } from './client-hello.ts'

/** What a real client sends first. */
async function recordHello(options: { servername?: string; ALPNProtocols?: string[] }): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const raw = connectPlain((server.address() as AddressInfo).port, '127.0.0.1')
  const client = connect({ socket: raw, ...options, rejectUnauthorized: false })
  client.on('error', () => undefined)
  const [socket] = (await once(server, 'connection')) as [Socket]
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  raw.destroy()
  server.close()
  return bytes
}

describe('the first message of a TLS client', () => {
  let hello: Buffer
  before(async () => {
    hello = await recordHello({ servername: 'App.Sender.example', ALPNProtocols: ['h2', 'acme-tls/1'] })
  })

  it('has the host name and the protocols', () => {
    const expected = { kind: 'hello', serverName: 'app.sender.example', protocols: ['h2', 'acme-tls/1'] }
    assert.deepEqual(readClientHello(hello), expected)
  })
  it('may have neither', async () => {
    assert.deepEqual(readClientHello(await recordHello({})), { kind: 'hello', serverName: null, protocols: [] })
  })
  it('is incomplete until its last byte', () => {
    for (let i = 0; i < hello.length; i++) assert.strictEqual(readClientHello(hello.subarray(0, i)).kind, 'incomplete')
  })
  for (const [what, text] of [
    ['HTTP', 'GET / HTTP/1.1\r\n'],
    ['an alert', Buffer.from('15030300020228', 'hex')],
    ['a record that is too long', Buffer.from('160301ffff', 'hex')],
  ] as const)
    it(`${what} is something else`, () => assert.strictEqual(readClientHello(Buffer.from(text)).kind, 'other'))
  it('of any bytes: never throws', () => {
    const changes = fc.array(fc.tuple(fc.nat({ max: 600 }), fc.integer({ min: 0, max: 255 })), {
      minLength: 1,
      maxLength: 8,
    })
    fc.assert(
      fc.property(changes, (pairs) => {
        const changed = Buffer.from(hello)
        for (const [at, byte] of pairs) if (at < changed.length) changed[at] = byte
        assert.include(['hello', 'other', 'incomplete'], readClientHello(changed).kind)
      }),
    )
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 400 }),
        (bytes) => void readClientHello(Buffer.from([22, 3, 1, 0, bytes.length & 255, ...bytes])),
      ),
    )
  })
})
