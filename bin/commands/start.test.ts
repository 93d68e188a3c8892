import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { Client } from 'pg'
import { attachReaper } from '#bin/supervisor/child-reaper.ts'
import { roleAccount } from '#bin/supervisor/role-accounts.ts'
import type { KeyRole } from '#src/crypto/purposes.ts'
import { canRead, logIn, rightsOf } from '#test/support/role-rights.ts'

const PROGRAM = join(import.meta.dirname, '../mailstead.ts')

/** The pid files of the roles in sandbox mode. */
const PID_FILES: Readonly<Record<KeyRole, string>> = {
  api: 'api',
  outbound: 'mta',
  submission: 'mta-submission',
  inbound: 'mta-inbound',
  sandbox: 'sandbox',
  worker: 'worker',
}

/** A port that only root may open. */
async function freeLowPort(): Promise<number> {
  for (let port = 600 + (process.pid % 400); ; port++) {
    const server = createServer().listen(port)
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    server.close()
    if (isFree) return port
  }
}

interface Started {
  readonly child: ChildProcess
  /** The output so far, and the exit code after the end. */
  readonly output: () => string
  readonly exit: Promise<unknown>
}

describe('mailstead start', () => {
  let dataDir: string

  before(() => {
    dataDir = mkdtempSync('/tmp/mailstead-start-')
    // Otherwise root would create its stores in /var/lib permanently.
    chmodSync(dataDir, 0o755)
  })
  after(() => rmSync(dataDir, { recursive: true }))

  const start = (env: object = {}): Started => {
    const child = spawn(process.execPath, [PROGRAM, 'start'], {
      env: { PATH: process.env['PATH'], DATA_DIR: dataDir, HTTP_PORT: '0', COMPACT: 'false', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    // a test run that is killed leaves no installation
    const tie = attachReaper(child.pid ?? 0, 'TERM', dataDir)
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString()
      })
    const exit = once(child, 'close').then(([code]) => {
      tie.release()
      return code as unknown
    })
    return { child, output: () => output, exit }
  }
  const ready = async ({ child, output }: Started): Promise<void> => {
    while (!/http:\/\/localhost:\d+/.test(output())) {
      assert.strictEqual(child.exitCode, null, output())
      await sleep(20)
    }
  }
  const stores = (): { databaseUrl: string; redisUrl: string } =>
    JSON.parse(readFileSync(join(dataDir, 'run/stores.json'), 'utf8')) as { databaseUrl: string; redisUrl: string }

  const query = async (statement: string): Promise<unknown> => {
    const client = new Client({ connectionString: stores().databaseUrl })
    await client.connect()
    try {
      const { rows } = await client.query<Record<string, unknown>>(statement)
      return Object.values(rows[0] ?? {})[0]
    } finally {
      await client.end()
    }
  }
  /** The processes that still run: roles by DATA_DIR in their environment, stores by their working directory. */
  const leftovers = (): string[] =>
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((pid) => {
        if (Number(pid) === process.pid) return []
        try {
          const isRole = readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`DATA_DIR=${dataDir}\0`)
          const isStore = readlinkSync(`/proc/${pid}/cwd`).startsWith(realpathSync(join(dataDir, 'stores')))
          return isRole || isStore ? [`${pid} ${readFileSync(`/proc/${pid}/cmdline`, 'latin1')}`] : []
        } catch {
          return []
        }
      })
  const nothingLeft = async (): Promise<void> => {
    while (leftovers().length > 0) await sleep(20)
  }

  it('starts all processes, and stops them in order at SIGTERM', async () => {
    const one = start({ OUTBOUND_PROCESSES: '2' })
    await ready(one)
    await query('CREATE TABLE kept AS SELECT 42 AS x')
    assert.ok(leftovers().length >= 6)
    const names = readdirSync(join(dataDir, 'run'))
    assert.includeMembers(names, ['mta.pid', 'mta-2.pid'])
    assert.notInclude(names, 'mta-3.pid')
    one.child.kill('SIGTERM')
    assert.strictEqual(await one.exit, 0, one.output())
    assert.deepEqual(leftovers(), [])
    assert.deepEqual(readdirSync(join(dataDir, 'run')), [])
  })

  const pidOf = (name: string): number => Number(readFileSync(join(dataDir, 'run', `${name}.pid`), 'utf8'))

  /** No user has two roles, nor the stores. */
  function assertUsers(pids: readonly (readonly [role: KeyRole, pid: number])[]): void {
    const rights = pids.map(([role, pid]) => ({ role, threads: rightsOf(pid) }))
    for (const { role, threads } of rights) {
      const { uid, gid, storesGroup } = roleAccount([role])
      const groups = String(storesGroup)
      assert.deepEqual(threads, [{ uid, gid, groups, capabilities: 0n, hasNoNewPrivileges: true }], role)
    }
    const { uid: storesUser } = statSync(join(dataDir, 'stores/postgres'))
    const users = [0, storesUser, ...rights.map(({ threads }) => threads[0]?.uid)]
    assert.strictEqual(new Set(users).size, pids.length + 2)
  }

  function assertOwnFilesOnly(role: KeyRole): void {
    const secrets = ['master.key', 'admin.token', 'operator.json', 'server-tls.json', 'run/stores.json', 'log/api.log']
    const folders = ['stores/postgres', 'stores/redis', 'stores/sock']
    for (const name of [...secrets, ...folders]) assert.isFalse(canRead(role, join(dataDir, name)), name)
    assert.strictEqual(canRead(role, join(dataDir, 'journal')), role === 'outbound')
  }

  it('as root: each role has a user of its own, no capability, and only its own files', async function () {
    if (process.getuid?.() !== 0) this.skip() // only root can start processes as other users
    const port = await freeLowPort()
    const one = start({ SUBMISSION_PORT: String(port) })
    await ready(one)
    const pids = Object.entries(PID_FILES).map(([role, name]) => [role as KeyRole, pidOf(name)] as const)
    assertUsers(pids)
    const ports = JSON.parse(readFileSync(join(dataDir, 'run/submission-ports.json'), 'utf8')) as { plain: number }
    assert.strictEqual(ports.plain, port, 'the port below 1024 that was set')
    for (const [role, pid] of pids) {
      assertOwnFilesOnly(role)
      for (const [other] of pids)
        for (const name of ['environ', 'maps', 'fd']) assert.isFalse(canRead(other, `/proc/${pid}/${name}`), name)
      const socket = join(dataDir, 'stores/sock/.s.PGSQL.5432')
      assert.deepEqual([logIn(role, socket, 'mailstead_app'), logIn(role, socket, 'mailstead')], ['R', 'E'])
    }
    one.child.kill('SIGTERM')
    assert.strictEqual(await one.exit, 0, one.output())
    assert.deepEqual(readdirSync(join(dataDir, 'run')), [])
  })

  it('keeps the data, and refuses a second instance', async () => {
    const one = start()
    await ready(one)
    assert.strictEqual(await query('SELECT x FROM kept'), 42)
    const two = start()
    assert.strictEqual(await two.exit, 1)
    assert.match(two.output(), new RegExp(`already running with the data in ${dataDir} \\(process ${one.child.pid}\\)`))
    const port = /http:\/\/localhost:(\d+)/.exec(one.output())?.[1] ?? ''
    const three = start({ DATA_DIR: join(dataDir, 'other'), HTTP_PORT: port })
    assert.strictEqual(await three.exit, 1)
    assert.match(three.output(), new RegExp(`Port ${port} is in use.*HTTP_PORT=`))
    // Ctrl-C under npm arrives twice.
    one.child.kill('SIGINT')
    one.child.kill('SIGINT')
    assert.strictEqual(await one.exit, 0, one.output())
    assert.deepEqual(leftovers(), [])
  })

  it('restarts each process that dies', async () => {
    const one = start()
    await ready(one)
    const postgres = Number.parseInt(readFileSync(join(dataDir, 'stores/postgres/postmaster.pid'), 'utf8'), 10)
    const worker = readFileSync(join(dataDir, 'run/worker.pid'), 'utf8')
    process.kill(postgres, 'SIGKILL')
    process.kill(Number(worker), 'SIGKILL')
    while (!/PostgreSQL is running again/.test(one.output()) || !/worker is running again/.test(one.output()))
      await sleep(20)
    assert.strictEqual(await query('SELECT x FROM kept'), 42)
    assert.notStrictEqual(readFileSync(join(dataDir, 'run/worker.pid'), 'utf8'), worker)
    one.child.kill('SIGTERM')
    assert.strictEqual(await one.exit, 0, one.output())
    assert.deepEqual(leftovers(), [])
  })

  it('leaves no process running when it is killed, and starts again afterwards, also on a drained node', async () => {
    const one = start()
    await ready(one)
    while ((await query('UPDATE nodes SET is_draining = true RETURNING name')) === undefined) await sleep(20)
    one.child.kill('SIGKILL')
    await one.exit
    await nothingLeft()
    assert.ok(existsSync(join(dataDir, 'run/lock')))
    const two = start()
    await ready(two)
    assert.match(two.output(), /This node is drained: .*`mailstead node undrain /)
    assert.strictEqual(await query('SELECT x FROM kept'), 42)
    two.child.kill('SIGTERM')
    assert.strictEqual(await two.exit, 0, two.output())
  })
})
