import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { assert } from 'chai'
import { cidrs } from '#config/settings/readers.ts'
import { openLog } from '#src/platform/log.ts'
import { findPeer } from './client-peer.ts'
import type { ProxiedPeer } from './proxy-header.ts'

const LOOPBACK = cidrs('127.0.0.0/8')
const HEADER = 'PROXY TCP4 192.0.2.7 192.0.2.1 51000 25\r\n'

describe('the client of an SMTP connection', () => {
  const servers: Server[] = []
  const sockets: Socket[] = []
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy()
    for (const server of servers.splice(0)) {
      server.close()
      await once(server, 'close')
    }
  })

  /** Answers each connection with its client, then echoes what it reads. */
  async function dial(
    proxyNetworks = LOOPBACK,
    headerMs?: number,
  ): Promise<{ socket: Socket; readonly read: () => Promise<string>; ended: Promise<unknown> }> {
    const log = openLog({ logLevel: 'silent' }, 'test')
    const server = createServer((socket) => {
      sockets.push(socket)
      findPeer({ proxyNetworks, log, ...(headerMs === undefined ? {} : { headerMs }) }, socket, (peer: ProxiedPeer) => {
        socket.write(`${peer.address}|`)
        socket.pipe(socket)
      })
    }).listen(0, '127.0.0.1')
    servers.push(server)
    await once(server, 'listening')
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    sockets.push(socket)
    let text = ''
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString()
    })
    socket.on('error', () => undefined)
    const ended = new Promise((resolve) => socket.once('close', resolve))
    await once(socket, 'connect')
    const read = async (): Promise<string> => {
      while (!text.includes('!')) await once(socket, 'data')
      return text
    }
    return { socket, read, ended }
  }

  it('is named by the header of a trusted proxy; what follows in the same packet is not lost', async () => {
    const { socket, read } = await dial()
    socket.write(`${HEADER}EHLO x!`)
    assert.strictEqual(await read(), '192.0.2.7|EHLO x!')
  })
  it('is named by a header that arrives byte by byte', async () => {
    const { socket, read } = await dial()
    socket.setNoDelay(true)
    for (const byte of `${HEADER}EHLO x!`) {
      socket.write(byte)
      await new Promise((resolve) => setImmediate(resolve))
    }
    assert.strictEqual(await read(), '192.0.2.7|EHLO x!')
  })
  it('is the peer itself, if that is no proxy: a header is not read', async () => {
    const { socket, read } = await dial(cidrs('192.0.2.0/24'))
    socket.write(`${HEADER}!`)
    assert.strictEqual(await read(), `127.0.0.1|${HEADER}!`)
  })
  it('is the proxy, if that speaks for itself', async () => {
    const { socket, read } = await dial()
    socket.write('PROXY UNKNOWN\r\n!')
    assert.strictEqual(await read(), '127.0.0.1|!')
  })
  for (const [what, text] of [
    ['sends SMTP without a header', 'EHLO x\r\n'],
    ['sends an invalid header', 'PROXY TCP4 nowhere\r\n'],
  ] as const)
    it(`a proxy that ${what} is disconnected without an answer`, async () => {
      const { socket, ended } = await dial()
      socket.write(text)
      await ended
      assert.strictEqual(socket.bytesRead, 0)
    })
  it('a proxy that sends its header too slowly is disconnected', async () => {
    const { socket, ended } = await dial(LOOPBACK, 50)
    socket.write('PROXY TCP4 192.0')
    await ended
    assert.strictEqual(socket.bytesRead, 0)
  })
  it('a proxy that ends or breaks the connection in its header does no harm', async () => {
    const half = await dial()
    half.socket.end('PROXY TCP4')
    await half.ended
    const broken = await dial()
    broken.socket.write('PROXY')
    broken.socket.resetAndDestroy()
    await broken.ended
    assert.strictEqual(half.socket.bytesRead, 0)
  })
})
