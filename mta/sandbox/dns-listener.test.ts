import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import { connect } from 'node:net'
import { assert, expect } from 'chai'
import { decode, encode, streamEncode, type DecodedPacket } from 'dns-packet'
import { answerTo, listenDns, type DnsListener, type Responder } from './dns-listener.ts'

const long: Responder = (query) =>
  Promise.resolve(
    answerTo(query, 'NOERROR', [
      { name: 'a.test', type: 'TXT', data: ['x'.repeat(255), 'y'.repeat(255), 'z'.repeat(255)] },
    ]),
  )

describe('DNS listener', () => {
  let listener: DnsListener | undefined

  async function ask(respond: Responder): Promise<Resolver> {
    listener = await listenDns(0, respond)
    const resolver = new Resolver({ timeout: 300, tries: 1 })
    resolver.setServers([`127.0.0.1:${listener.port}`])
    return resolver
  }

  async function askUdp(query: Buffer): Promise<DecodedPacket> {
    const socket = createSocket('udp4')
    try {
      socket.send(query, listener?.port ?? 0, '127.0.0.1')
      const [bytes] = (await once(socket, 'message')) as [Buffer]
      return decode(bytes)
    } finally {
      socket.close()
    }
  }

  afterEach(async () => {
    await listener?.stop()
    listener = undefined
  })

  it('truncates a long UDP answer and returns it whole over TCP', async () => {
    const resolver = await ask(long)
    const cut = await askUdp(encode({ type: 'query', id: 7, questions: [{ name: 'a.test', type: 'TXT' }] }))
    assert.strictEqual(cut.id, 7)
    assert.strictEqual(cut.flag_tc, true)
    assert.deepEqual(cut.answers, [])
    const [[...strings] = []] = await resolver.resolveTxt('a.test')
    assert.deepEqual(
      strings.map((text) => text.length),
      [255, 255, 255],
    )
  })

  it('returns a UDP answer up to the size that the client offers (EDNS)', async () => {
    await ask(long)
    const opt = {
      type: 'OPT' as const,
      name: '.',
      udpPayloadSize: 1232,
      flags: 0,
      options: [],
      extendedRcode: 0,
      ednsVersion: 0,
      flag_do: false,
    }
    const whole = await askUdp(
      encode({ type: 'query', id: 8, questions: [{ name: 'a.test', type: 'TXT' }], additionals: [opt] }),
    )
    assert.strictEqual(whole.flag_tc, false)
    assert.strictEqual(whole.answers?.length, 1)
  })

  it('answers several queries on one TCP connection, however they are split', async () => {
    await ask((query) => Promise.resolve(answerTo(query, 'NXDOMAIN')))
    const socket = connect(listener?.port ?? 0, '127.0.0.1')
    const bytes = Buffer.concat(
      [1, 2, 3].map((id) => streamEncode({ type: 'query', id, questions: [{ name: 'a.test', type: 'A' }] })),
    )
    for (const byte of bytes) socket.write(Buffer.of(byte))
    let got = Buffer.alloc(0)
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      got = Buffer.concat([got, chunk])
      if (got.length >= bytes.length) break
    }
    assert.deepEqual(
      [2, 2 + bytes.length / 3, 2 + (2 * bytes.length) / 3].map((at) => got.readUInt16BE(at)).toSorted((a, b) => a - b),
      [1, 2, 3],
    )
  })

  it('ignores invalid queries and keeps running', async () => {
    const resolver = await ask((query) => Promise.resolve(answerTo(query, 'NXDOMAIN')))
    const socket = createSocket('udp4')
    for (const junk of [
      Buffer.alloc(0),
      Buffer.from('hello'),
      Buffer.alloc(600, 0xff),
      encode({ type: 'response', id: 1, questions: [{ name: 'a', type: 'A' }] }),
      encode({ type: 'query', id: 1, questions: [] }),
    ]) {
      socket.send(junk, listener?.port ?? 0, '127.0.0.1')
    }
    const tcp = connect(listener?.port ?? 0, '127.0.0.1')
    tcp.end(Buffer.from('\u0000\u0005hello'))
    await once(tcp, 'connect')
    tcp.destroy()
    await expect(resolver.resolve4('a.test')).to.be.rejected.and.eventually.have.property('code', 'ENOTFOUND')
    socket.close()
  })

  it('answers SERVFAIL when the responder throws', async () => {
    const resolver = await ask(() => Promise.reject(new Error('bug')))
    await expect(resolver.resolve4('a.test')).to.be.rejected.and.eventually.have.property('code', 'ESERVFAIL')
  })

  it('rejects with EADDRINUSE if its port is in use', async () => {
    await ask(long)
    await expect(listenDns(listener?.port ?? 0, long)).to.be.rejected.and.eventually.have.property('code', 'EADDRINUSE')
  })
})
