import { once } from 'node:events'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { assert, expect } from 'chai'
import { type Provisioner, startProvisioner } from './provisioner.ts'

describe('the provisioner', () => {
  /** It accepts connections and never answers. */
  let silent: Server
  let provisioner: Provisioner
  let stop: AbortController
  const settingsFor = (databaseUrl: string): Parameters<Provisioner['run']>[1] => ({
    databaseUrl,
    redisUrl: 'redis://127.0.0.1:1',
    httpPort: 3000,
  })
  const urlOf = (server: Server): string => `postgres://x@127.0.0.1:${(server.address() as AddressInfo).port}/x`
  before(async () => {
    silent = createServer().listen(0, '127.0.0.1')
    await once(silent, 'listening')
  })
  after(() => silent.close())
  beforeEach(() => {
    stop = new AbortController()
    provisioner = startProvisioner(stop.signal, 'ignore')
  })
  afterEach(() => provisioner.end())

  it('passes on errors with their names', async () => {
    await expect(provisioner.run('provision', settingsFor('postgres://x@127.0.0.1:1/x'))).to.be.rejectedWith(
      /ECONNREFUSED/,
    )
    await expect(provisioner.run('migrate', { ...settingsFor(urlOf(silent)), httpPort: 70_000 }))
      .to.be.rejectedWith(/HTTP_PORT must be a port/)
      .and.eventually.have.property('name', 'ConfigError')
  })

  it('stops waiting for PostgreSQL when `start` is stopped', async () => {
    const away = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
    await once(away, 'listening')
    const step = provisioner.run('migrate', settingsFor(urlOf(away)))
    step.catch(() => undefined)
    // the second attempt shows that it waits
    for (let attempt = 1; attempt <= 2; attempt++) await once(away, 'connection')
    stop.abort()
    await expect(step).to.be.rejected.and.eventually.not.have.property('name', 'UserError')
    away.close()
  })

  it('fails the step if its process dies', async () => {
    const step = provisioner.run('migrate', settingsFor(urlOf(silent)))
    step.catch(() => undefined)
    await once(silent, 'connection')
    process.kill(provisioner.pid, 'SIGKILL')
    await expect(step).to.be.rejectedWith(/ended \(SIGKILL\) in the step "migrate"\. Start again/)
  })

  it('ends with the process that started it, in the middle of a step', async () => {
    provisioner.run('migrate', settingsFor(urlOf(silent))).catch(() => undefined)
    const [connection] = (await once(silent, 'connection')) as [NodeJS.EventEmitter & { resume(): void }]
    connection.resume()
    const closed = once(connection, 'close')
    await provisioner.end()
    await closed
    assert.throws(() => process.kill(provisioner.pid, 0), /ESRCH/)
  })
})
