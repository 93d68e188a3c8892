import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server } from 'node:net'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { loadConfig } from '#config/load.ts'
import { openLog } from '#src/platform/log.ts'
import { listenOnPort, type PortSetting } from './listener.ts'

describe('the port of an SMTP server', () => {
  const open: Server[] = []
  afterEach(async () => {
    for (const server of open.splice(0)) {
      server.close()
      if (server.listening) await once(server, 'close')
    }
  })

  const listen = (port: number): Server => {
    const server = createServer().listen(port)
    open.push(server)
    return server
  }
  const occupyPort = async (): Promise<number> => {
    const server = listen(0)
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  const ctx = (env: NodeJS.ProcessEnv): { config: ReturnType<typeof loadConfig>; log: ReturnType<typeof openLog> } => ({
    config: loadConfig(env),
    log: openLog({ logLevel: 'silent' }, 'test'),
  })
  const settingOf = (port: number, fallback = 0): PortSetting => ({
    what: 'a server',
    setting: 'SOME_PORT',
    port,
    fallback,
  })
  const refused = (port: number): Server => {
    const server = createServer()
    open.push(server)
    process.nextTick(() =>
      server.emit('error', Object.assign(new Error('no'), { code: port < 1024 && port > 0 ? 'EACCES' : 'EADDRINUSE' })),
    )
    return server
  }

  it('is the configured one', async () => {
    assert.ok(
      (await listenOnPort(ctx({ MODE: 'live', MAILSTEAD_HOSTNAME: 'mta.example.com' }), settingOf(0), listen)) > 0,
    )
  })
  it('that is in use is an error that names the setting', async () => {
    const port = await occupyPort()
    await assert.isRejected(
      listenOnPort(ctx({ MODE: 'live', MAILSTEAD_HOSTNAME: 'mta.example.com' }), settingOf(port), listen),
      new RegExp(`a server: port ${port} is in use .*SOME_PORT`),
    )
  })
  it('that is in use in the sandbox is replaced by the next free one', async () => {
    const port = await occupyPort()
    assert.notStrictEqual(await listenOnPort(ctx({}), settingOf(port), listen), port)
  })
  it('that this user may not bind is replaced', async () => {
    const port = await listenOnPort(
      ctx({ MODE: 'live', MAILSTEAD_HOSTNAME: 'mta.example.com' }),
      settingOf(25),
      (requested) => (requested === 25 ? refused(requested) : listen(requested)),
    )
    assert.ok(port > 1023)
  })
  it('is an error when the replacement is in use too', async () => {
    await assert.isRejected(
      listenOnPort(ctx({ MODE: 'live', MAILSTEAD_HOSTNAME: 'mta.example.com' }), settingOf(25, 2526), refused),
      /port 2526 is in use/,
    )
  })
})

describe('a socket that systemd opened', () => {
  it('has a client wait for the greeting while the process starts', async () => {
    const listening = createServer().listen(0, '127.0.0.1')
    await once(listening, 'listening')
    const descriptor = Reflect.get(Reflect.get(listening, '_handle') as object, 'fd') as number
    const { port } = listening.address() as AddressInfo
    const program = `
      import { createInterface } from 'node:readline'
      import { SmtpServer } from '#mta/smtp-server/smtp-server.ts'
      import { openPorts } from '#mta/smtp-server/listener.ts'
      import { loadConfig } from '#config/load.ts'
      import { openLog } from '#src/platform/log.ts'
      import { certificateFor } from '#test/support/certificate.ts'
      const [config, log] = [loadConfig({}), openLog({ logLevel: 'silent' }, 'test')]
      const certificate = await certificateFor(['late'])
      const one = { what: 'a server', setting: 'SUBMISSION_PORT', port: 587, fallback: 2587 }
      const { plain } = await openPorts({ config, log }, { plain: one })
      console.log('open')
      for await (const line of createInterface({ input: process.stdin })) {
        const options = {
          name: 'late', banner: 'x', certificate, mailParameters: {}, rcptParameters: {}, maxOctets: 1000,
          maxRecipients: 1, maxConnections: 10, idleSeconds: 60, closeMs: 0,
        }
        const handlers = { open: () => null, mailFrom: () => null, rcptTo: () => null, data: () => null }
        const deps = { clock: { now: Date.now }, log, proxyNetworks: [], admit: () => true }
        const server = new SmtpServer(options, handlers, deps)
        console.log(await plain.listen(server))
      }
    `
    const command = 'LISTEN_PID=$$ exec "$0" --input-type=module-typescript -e "$1"'
    const child = spawn('/bin/sh', ['-c', command, process.execPath, program], {
      env: { ...process.env, LISTEN_FDS: '1', LISTEN_FDNAMES: 'SUBMISSION_PORT' },
      stdio: ['pipe', 'pipe', 'inherit', descriptor],
    })
    const { stdin, stdout } = child
    assert.ok(stdin !== null && stdout !== null)
    const printed = createInterface({ input: stdout })[Symbol.asyncIterator]()
    try {
      listening.close() // this process accepts no more
      assert.strictEqual((await printed.next()).value, 'open')
      const socket = connect(port, '127.0.0.1')
      const greeting = text(socket)
      await once(socket, 'connect')
      // a process that accepts would close the connection now; there is no event for one that does not
      await Promise.race([sleep(300), greeting])
      stdin.write('start\n')
      assert.strictEqual((await printed.next()).value, String(port))
      socket.write('QUIT\r\n')
      assert.match(await greeting, /^220 late .*\r\n221 /)
    } finally {
      child.kill('SIGKILL')
    }
  })
})
