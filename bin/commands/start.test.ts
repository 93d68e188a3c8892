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
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { Client } from 'pg'

const PROGRAM = join(import.meta.dirname, '../mailstead.ts')

interface Started {
  readonly child: ChildProcess
  /** The output so far, and the exit code after the end. */
  readonly output: () => string
  readonly exit: Promise<unknown>
}

describe('mailstead start', function () {
  this.timeout(120_000)
  let dataDir: string

  before(() => {
    dataDir = mkdtempSync('/tmp/mailstead-start-')
    // Otherwise root would create its stores in /var/lib permanently.
    chmodSync(dataDir, 0o755)
  })
  after(() => rmSync(dataDir, { recursive: true }))

  const start = (env: object = {}): Started => {
    const child = spawn(process.execPath, [PROGRAM, 'start'], {
      env: { PATH: process.env['PATH'], DATA_DIR: dataDir, HTTP_PORT: '0', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString()
      })
    return { child, output: () => output, exit: once(child, 'close').then(([code]) => code as unknown) }
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
    const one = start()
    await ready(one)
    await query('CREATE TABLE kept AS SELECT 42 AS x')
    assert.ok(leftovers().length >= 5)
    one.child.kill('SIGTERM')
    assert.strictEqual(await one.exit, 0, one.output())
    assert.deepEqual(leftovers(), [])
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

  it('leaves no process running when it is killed, and starts again afterwards', async () => {
    const one = start()
    await ready(one)
    one.child.kill('SIGKILL')
    await one.exit
    await nothingLeft()
    assert.ok(existsSync(join(dataDir, 'run/lock')))
    const two = start()
    await ready(two)
    assert.strictEqual(await query('SELECT x FROM kept'), 42)
    two.child.kill('SIGTERM')
    assert.strictEqual(await two.exit, 0, two.output())
  })
})
