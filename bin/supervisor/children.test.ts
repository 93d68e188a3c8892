import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { expect } from 'chai'
import { startRoleProcesses } from './children.ts'

/** Nothing listens on this port. */
const AWAY = { DATABASE_URL: 'postgres://x@127.0.0.1:1/x', REDIS_URL: 'redis://127.0.0.1:1' }
const API = { name: 'api', args: ['api'] }
/** This role waits for PostgreSQL without a limit. */
const WAITING = { name: 'mta', args: ['mta'] }

describe('the role processes', function () {
  this.timeout(60_000)
  let dir: string
  let blocker: Server
  before(async () => {
    dir = mkdtempSync('/tmp/mailstead-children-')
    mkdirSync(`${dir}/log`)
    blocker = createServer().listen(0)
    await once(blocker, 'listening')
  })
  after(() => {
    blocker.close()
    rmSync(dir, { recursive: true })
  })
  const start = (
    rows: Parameters<typeof startRoleProcesses>[0],
    signal = new AbortController().signal,
  ): ReturnType<typeof startRoleProcesses> => {
    const { port } = blocker.address() as AddressInfo
    const env = {
      PATH: process.env['PATH'],
      ...AWAY,
      DATA_DIR: dir,
      MASTER_KEY: '5a'.repeat(32),
      HTTP_PORT: String(port),
      LOG_LEVEL: 'error',
    }
    return startRoleProcesses(rows, { logDir: `${dir}/log`, env, say: () => undefined, signal })
  }

  it('fail together when one fails, even while another waits for its stores', async () => {
    await expect(start([[WAITING], [API]]))
      .to.be.rejectedWith(/^api did not start \(exit code 1\)[^]*HTTP_PORT/)
      .and.eventually.have.property('name', 'UserError')
  })
  it('are not started after a stop was requested', async () => {
    await expect(start([[WAITING]], AbortSignal.abort())).to.be.rejected.and.eventually.have.property(
      'name',
      'AbortError',
    )
  })
})
