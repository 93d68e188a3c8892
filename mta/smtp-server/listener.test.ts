import { once } from 'node:events'
import { createServer, type AddressInfo, type Server } from 'node:net'
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
