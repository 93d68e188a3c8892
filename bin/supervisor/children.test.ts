import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { assert, expect } from 'chai'
import { loadConfig } from '#config/load.ts'
import { deriveRoleKeys } from '#src/crypto/role-keys.ts'
import { countOutboundProcesses, listRoles, startRoleProcesses, type RoleProcess } from './children.ts'

const MASTER = Buffer.alloc(32, 7)
/** Nothing listens on this port. */
const AWAY = { DATABASE_URL: 'postgres://x@127.0.0.1:1/x', REDIS_URL: 'redis://127.0.0.1:1' }
const API: RoleProcess = { name: 'api', args: ['api'], keysFor: ['api'] }
/** This role waits for PostgreSQL without a limit. */
const WAITING: RoleProcess = { name: 'mta', args: ['mta'], keysFor: ['outbound'] }

interface StartOptions {
  readonly signal?: AbortSignal
  readonly home?: string
  readonly settings?: Readonly<Record<string, string>>
}

describe('the role processes', () => {
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
  const keysOf: Parameters<typeof startRoleProcesses>[1]['keysOf'] = (roles) => deriveRoleKeys([MASTER], roles)
  const blockedPort = (): number => (blocker.address() as AddressInfo).port
  const start = (
    rows: Parameters<typeof startRoleProcesses>[0],
    { signal = new AbortController().signal, home = dir, settings = {} }: StartOptions = {},
  ): ReturnType<typeof startRoleProcesses> => {
    const env = {
      PATH: process.env['PATH'],
      ...AWAY,
      DATA_DIR: home,
      HTTP_PORT: String(blockedPort()),
      LOG_LEVEL: 'error',
      ...settings,
    }
    const config = loadConfig(env)
    return startRoleProcesses(rows, {
      logDir: `${dir}/log`,
      env,
      settings: config,
      keysOf,
      say: () => undefined,
      signal,
    })
  }

  it('fail together when one fails, even while another waits for its stores', async () => {
    await expect(start([[WAITING], [API]]))
      .to.be.rejectedWith(/^api did not start \(exit code 1\)[^]*HTTP_PORT/)
      .and.eventually.have.property('name', 'UserError')
  })
  it('are not started after a stop was requested', async () => {
    await expect(start([[WAITING]], { signal: AbortSignal.abort() })).to.be.rejected.and.eventually.have.property(
      'name',
      'AbortError',
    )
  })

  it('get the variables of their role, unless the environment has another value', async () => {
    const outbound = listRoles({ isSandbox: true, outboundProcesses: 1, isCompact: false }).flat()[1]
    assert.strictEqual(outbound?.env?.['UV_THREADPOOL_SIZE'], '2')
    const env = { OF_ROLE: 'yes', HTTP_HOST: 'of-role.invalid' }
    const home = `${dir}/variables`
    const system = await start([[{ ...API, env }]], { home, settings: { HTTP_PORT: '0', HTTP_HOST: '127.0.0.1' } })
    const environ = readFileSync(`/proc/${readFileSync(`${home}/run/api.pid`, 'utf8').trim()}/environ`, 'latin1')
    await system.stop()
    assert.includeMembers(environ.split('\0'), ['OF_ROLE=yes', 'HTTP_HOST=127.0.0.1'])
  })
  it('are one outbound process for every two cores', () => {
    const CASES = [
      [1, 1],
      [2, 1],
      [3, 1],
      [4, 2],
      [8, 4],
      [64, 16],
    ] as const
    for (const [cores, count] of CASES) assert.strictEqual(countOutboundProcesses(cores), count, `${cores} cores`)
  })

  it('have names of their own, and stop together', () => {
    const [together = []] = listRoles({ isSandbox: true, outboundProcesses: 3, isCompact: false })
    const outbound = together.filter(({ keysFor }) => keysFor.includes('outbound'))
    assert.deepEqual(
      outbound.map(({ name, args }) => [name, args.slice(3)]),
      [
        ['mta', []],
        ['mta-2', ['--number', '2']],
        ['mta-3', ['--number', '3']],
      ],
    )
  })

  it('share processes on a small machine, or where that is set', () => {
    const argsOf = (isCompact: boolean | null, memoryBytes: number): string[] =>
      listRoles({ isSandbox: true, outboundProcesses: null, isCompact }, memoryBytes)
        .flat()
        .map(({ args }) => args[2] ?? args[0] ?? '')
    const compact = ['api', 'outbound,submission', 'worker', 'inbound,sandbox']
    assert.deepEqual(argsOf(null, 512 * 2 ** 20), compact)
    assert.deepEqual(argsOf(true, 8 * 2 ** 30), compact)
    assert.includeMembers(argsOf(false, 512 * 2 ** 20), ['outbound', 'submission', 'inbound', 'sandbox'])
    assert.includeMembers(argsOf(false, 2 ** 30), ['outbound', 'submission', 'inbound', 'sandbox'])
  })

  it('share one process where they receive mail in the sandbox, which stops last', () => {
    const rowsOf = (isSandbox: boolean): string[][] =>
      listRoles({ isSandbox, outboundProcesses: 1, isCompact: null }, 2 ** 30).map((row) =>
        row.map(({ keysFor }) => keysFor.join()),
      )
    assert.deepEqual(rowsOf(true), [['api', 'outbound', 'worker'], ['sandbox,inbound,submission']])
    assert.deepEqual(rowsOf(false), [['api', 'outbound', 'worker', 'submission', 'inbound,sandbox']])
  })

  it('start with other ports when those of the sandbox are in use, and get the ports that it has opened', async () => {
    const roles = listRoles({ isSandbox: true, outboundProcesses: 1, isCompact: false }).map((row) =>
      row.filter(({ name }) => name === 'sandbox' || name === 'api'),
    )
    const homes = ['one', 'two'].map((name) => `${dir}/${name}`)
    const port = String(blockedPort())
    const settings = { HTTP_PORT: '0', SANDBOX_DNS_PORT: port, SANDBOX_SMTP_PORT: port }
    const systems = await Promise.all(homes.map((home) => start(roles, { settings, home })))
    const announced = homes.flatMap((home) => {
      const environ = readFileSync(`/proc/${readFileSync(`${home}/run/api.pid`, 'utf8').trim()}/environ`, 'latin1')
      return [...environ.matchAll(/\0SANDBOX_(?:DNS|SMTP)_PORT=(\d+)/g)].map(([, value]) => value)
    })
    await Promise.all(systems.map((system) => system.stop()))
    assert.strictEqual(new Set([port, ...announced.flatMap((value) => value ?? [])]).size, 5)
  })
})
