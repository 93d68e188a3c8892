import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { assert } from 'chai'
import { SETTINGS, SOON, failure } from './dial.test-data.ts'
import { openSession } from './open.ts'
import { chooseTimeouts } from './timeouts.ts'

/** A host whose kernel neither accepts nor refuses a connection: its listen queue is full. */
async function withDeafHost(use: (port: number) => Promise<void>): Promise<void> {
  const program = `require('net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, function () {
    require('fs').writeSync(1, String(this.address().port))
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  })`
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [bytes] = (await once(child.stdout, 'data')) as [Buffer]
  const port = Number(bytes.toString())
  const fillers = Array.from({ length: 8 }, () => connect(port, '127.0.0.1').on('error', () => {}))
  await once(fillers[0] ?? child, 'connect')
  try {
    await use(port)
  } finally {
    for (const filler of fillers) filler.destroy()
    child.kill('SIGKILL')
    await once(child, 'close')
  }
}

describe('connecting', () => {
  it('to a closed port fails at once', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    await once(server.close(), 'close')
    const opened = await openSession({ host: 'mx.test', address: '127.0.0.1', port }, SETTINGS)
    assert.containsSubset(failure(opened), {
      stage: 'connect',
      reply: null,
      loss: { cause: 'network', code: 'ECONNREFUSED' },
    })
    assert.match(
      opened.ok ? '' : opened.failure.transcript.join('\n'),
      /^-- mx\.test \[127\.0\.0\.1\]:\d+\n-- no connection: connect ECONNREFUSED/,
    )
  })

  it('from an address that this host does not have fails', async () => {
    const opened = await openSession(
      { host: 'mx.test', address: '127.0.0.1', port: 9, localAddress: '192.0.2.1' },
      SETTINGS,
    )
    assert.containsSubset(failure(opened), {
      stage: 'connect',
      loss: { cause: 'network', code: 'EADDRNOTAVAIL' },
    })
  })

  it('from an address of this host uses it', async () => {
    const server = createServer((socket) => socket.resume().end(`554 ${socket.remoteAddress}\r\n`)).listen(
      0,
      '127.0.0.1',
    )
    await once(server, 'listening')
    const target = {
      host: 'mx.test',
      address: '127.0.0.1',
      port: (server.address() as AddressInfo).port,
      localAddress: '127.0.0.9',
    }
    assert.containsSubset(failure(await openSession(target, SETTINGS)), { reply: { text: '127.0.0.9' } })
    await once(server.close(), 'close')
  })

  it('to a host that does not answer times out', () =>
    withDeafHost(async (port) => {
      const opened = await openSession(
        { host: 'mx.test', address: '127.0.0.1', port },
        { ...SETTINGS, timeouts: chooseTimeouts({ connect: SOON }) },
      )
      assert.containsSubset(failure(opened), { stage: 'connect', loss: { cause: 'timeout' } })
    }))

  it('to a host name throws: the caller resolves names', async () => {
    await assert.isRejected(
      openSession({ host: 'localhost', address: 'localhost', port: 25 }, SETTINGS),
      /not an IP address: localhost/,
    )
  })
})
