import { once } from 'node:events'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { assert } from 'chai'
import { loadConfig } from '#config/load.ts'
import { openLog } from '#src/platform/log.ts'
import { listenOnPort, type PortSetting } from './listener.ts'

describe('where our servers listen', () => {
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
  const taken = async (): Promise<number> => {
    const server = listen(0)
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  const ctx = (env: NodeJS.ProcessEnv): { config: ReturnType<typeof loadConfig>; log: ReturnType<typeof openLog> } => ({
    config: loadConfig(env),
    log: openLog({ logLevel: 'silent' }, 'test'),
  })
  const place = (port: number, fallback = 0): PortSetting => ({
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

  it('at the port that was asked for', async () => {
    assert.ok((await listenOnPort(ctx({ HOSTNAME: 'mta.example.com' }), place(0), listen)) > 0)
  })
  it('a taken port is told with its setting', async () => {
    const port = await taken()
    await assert.isRejected(
      listenOnPort(ctx({ HOSTNAME: 'mta.example.com' }), place(port), listen),
      new RegExp(`a server: port ${port} is in use .*SOME_PORT`),
    )
  })
  it('in the sandbox a taken port is no trouble: the next one does', async () => {
    const port = await taken()
    assert.notStrictEqual(await listenOnPort(ctx({}), place(port), listen), port)
  })
  it('a port that this user may not have is replaced', async () => {
    const port = await listenOnPort(ctx({ HOSTNAME: 'mta.example.com' }), place(25), (wanted) =>
      wanted === 25 ? refused(wanted) : listen(wanted),
    )
    assert.ok(port > 1023)
  })
  it('and when its replacement is taken, that is told', async () => {
    await assert.isRejected(
      listenOnPort(ctx({ HOSTNAME: 'mta.example.com' }), place(25, 2526), refused),
      /port 2526 is in use/,
    )
  })
})
