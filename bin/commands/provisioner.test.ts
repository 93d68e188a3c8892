import { once } from 'node:events'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { assert, expect } from 'chai'
import { type Provisioner, startProvisioner } from './provisioner.ts'

describe('the provisioner', () => {
  let silent: Server
  let provisioner: Provisioner
  let stop: AbortController
  const settingsFor = (databaseUrl: string): Parameters<Provisioner['run']>[1] => ({
    databaseUrl,
    redisUrl: 'redis://127.0.0.1:1',
    httpPort: 3000,
  })
  /** A server that accepts connections and never answers. */
  const silentUrl = (): string => `postgres://x@127.0.0.1:${(silent.address() as AddressInfo).port}/x`
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
    await expect(provisioner.run('migrate', { ...settingsFor(silentUrl()), httpPort: 70_000 }))
      .to.be.rejectedWith(/HTTP_PORT must be a port/)
      .and.eventually.have.property('name', 'ConfigError')
  })

  it('stops waiting for PostgreSQL when `start` is stopped', async () => {
    const step = provisioner.run('migrate', settingsFor('postgres://x@127.0.0.1:1/x'))
    step.catch(() => undefined)
    setTimeout(() => stop.abort(), 1000)
    await expect(step).to.be.rejected.and.eventually.not.have.property('name', 'UserError')
  })

  it('fails the step if its process dies', async () => {
    const step = provisioner.run('migrate', settingsFor(silentUrl()))
    step.catch(() => undefined)
    await once(silent, 'connection')
    process.kill(provisioner.pid, 'SIGKILL')
    await expect(step).to.be.rejectedWith(/the step "migrate" has ended: SIGKILL/)
  })

  it('ends with the process that started it, in the middle of a step', async () => {
    provisioner.run('migrate', settingsFor(silentUrl())).catch(() => undefined)
    const [connection] = (await once(silent, 'connection')) as [NodeJS.EventEmitter & { resume(): void }]
    connection.resume()
    const closed = once(connection, 'close')
    await provisioner.end()
    await closed
    assert.throws(() => process.kill(provisioner.pid, 0), /ESRCH/)
  })
})
