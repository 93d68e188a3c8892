/**
 * Starts stores for tests. `createDatabase` clones a migrated template in the cluster of the test run (TEST_PG_URL),
 * or, when mocha runs one file directly, in a cluster that starts on first use. `startRedis` and `startPostgres` return
 * a server for one test, which may crash it; PostgreSQL starts on a copy of migrated data (TEST_PG_DATA) if the run has
 * one. All files are in memory where that is large enough, else in /tmp, and are removed when the test process ends,
 * however it ends.
 */
import { execFileSync } from 'node:child_process'
import { accessSync, chmodSync, chownSync, constants, existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { freemem } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { type SystemAccount, chooseAccount } from '#bin/supervisor/account.ts'
import { createPrivateDirectory } from '#bin/supervisor/data-directory.ts'
import { startPostgres as launchPostgres } from '#bin/supervisor/postgres.ts'
import { APPLICATION_ROLE, superuserUrl } from '#bin/supervisor/postgres-access.ts'
import { launchStandby } from './standby.ts'
import { type RunningProcess, stopProcessesIn } from '#bin/supervisor/processes.ts'
import { startRedis as launchRedis } from '#bin/supervisor/redis.ts'
import { openLog } from '#src/platform/log.ts'
import { migrate } from '#src/stores/migrate.ts'
import { openRedis, waitUntilReady } from '#src/stores/redis.ts'

export interface TestDatabase {
  readonly url: string
  /** Also with connections still open. */
  drop(): Promise<void>
}

export interface TestServer {
  /** The same after `restart`. */
  readonly url: string
  /** kill -9 of the server and its children; resolves when all are gone. */
  crash(): Promise<void>
  /** Starts it again on the same data; a running one is stopped in order first. */
  restart(): Promise<void>
  /** Stops it and removes its files. */
  stop(): Promise<void>
}

const TEMPLATE = 'mailstead_template'
/**
 * A database is 900 files, and some disks create a file slowly. Not TMPDIR: the path of a unix socket is short, and the
 * account must be able to enter it.
 */
const MEMORY = '/dev/shm'
/** PostgreSQL's log of a whole run (2 GB at most), and the databases of the tests that run at the same time. */
const NEEDED_BYTES = 6 * 2 ** 30
let shared: Promise<TestServer> | null = null
/** Folders of crashed servers that nobody stopped: their leash is gone with them. */
const abandoned = new Set<string>()
process.on('exit', () => abandoned.forEach(remove))

/** A database of its own, with all migrations applied. */
export function createDatabase(): Promise<TestDatabase> {
  return createFrom(TEMPLATE)
}

/** A database of its own without tables, for tests of migrations. */
export function createEmptyDatabase(): Promise<TestDatabase> {
  return createFrom('template0')
}

async function createFrom(template: string): Promise<TestDatabase> {
  const adminUrl = process.env['TEST_PG_URL'] ?? (await (shared ??= startTemplateCluster())).url
  const name = `test_${process.pid}_${process.hrtime.bigint()}`
  // Copies files: the default strategy copies each page through the buffers and the WAL, at 14 times the CPU.
  const fromTemplate = `TEMPLATE ${template} STRATEGY file_copy`
  await administer(adminUrl, `CREATE DATABASE ${name} OWNER ${APPLICATION_ROLE} ${fromTemplate}`)
  const url = new URL(adminUrl)
  url.pathname = `/${name}`
  return { url: url.href, drop: () => administer(adminUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) }
}

/** Redis servers of this process that no test uses now, empty. They stop when the process ends. */
const idleRedis: TestServer[] = []

/**
 * An empty Redis on a unix socket that nobody else uses. `stop` empties it for the next test of this process, unless
 * this one crashed or restarted it.
 */
export async function startRedis(): Promise<TestServer> {
  const server = idleRedis.pop() ?? (await launchTestRedis())
  let isReusable = true
  const withoutReuse = (action: () => Promise<void>) => () => {
    isReusable = false
    return action()
  }
  return {
    url: server.url,
    crash: withoutReuse(() => server.crash()),
    restart: withoutReuse(() => server.restart()),
    stop: async () => {
      if (!isReusable) return server.stop()
      isReusable = false
      if (await empty(server)) idleRedis.push(server)
      else await server.stop()
    },
  }
}

function launchTestRedis(): Promise<TestServer> {
  return serve((directory) => launchRedis({ ...directory, say: printLine, removeOnExit: directory.root }))
}

/** Removes data, scripts, and connections that a test left open. False when the server does not respond. */
async function empty({ url }: TestServer): Promise<boolean> {
  const redis = openRedis(url, openLog({ logLevel: 'silent' }, 'test'))
  try {
    if (!(await waitUntilReady(redis, 5000))) return false
    for (const type of ['normal', 'pubsub']) await redis.call('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes')
    await redis.script('FLUSH')
    await redis.flushall()
    return true
  } finally {
    redis.disconnect()
  }
}

/** One PostgreSQL of its own, migrated and with fsync on: for tests that crash it. */
export async function startPostgres(): Promise<TestServer> {
  const initial = process.env['TEST_PG_DATA']
  const server = await serve((directory) => {
    if (initial !== undefined && !existsSync(directory.dir)) copy(initial, directory.dir)
    return launchPostgres({ ...directory, removeOnExit: directory.root })
  })
  if (initial === undefined) await migrate(server.url)
  return server
}

/** A standby on a base backup, which `fill` writes to the folder. It accepts reads when this resolves. */
export async function startStandbyServer(fill: (dir: string) => Promise<void>): Promise<Omit<TestServer, 'restart'>> {
  const directory = createServerDirectory()
  await fill(directory.dir)
  const running = await launchStandby({ ...directory, removeOnExit: directory.root })
  return {
    url: running.url,
    crash: () => running.kill(),
    stop: async () => {
      await running.stop()
      remove(directory.root)
    },
  }
}

export interface TemplateCluster extends TestServer {
  /** A copy of its data folder, from which a test starts a PostgreSQL of its own. It goes into TEST_PG_DATA. */
  readonly initialData: string
}

/** The cluster of a test run: without fsync, with the template database. Its url goes into TEST_PG_URL. */
export async function startTemplateCluster(): Promise<TemplateCluster> {
  const directory = createServerDirectory()
  const initialData = join(directory.root, 'initial')
  const start = (): Promise<RunningStore> =>
    launchPostgres({ ...directory, durable: false, removeOnExit: directory.root })
  const first = await start()
  await migrate(first.url)
  await administer(
    first.url,
    `CREATE DATABASE ${TEMPLATE} OWNER ${APPLICATION_ROLE} TEMPLATE mailstead STRATEGY file_copy`,
  )
  // Only the files of a stopped server are complete. No server removes the folder meanwhile if this process ends.
  abandoned.add(directory.root)
  await first.stop()
  copy(directory.dir, initialData)
  const server = await serve(start, directory)
  abandoned.delete(directory.root)
  return { ...server, initialData }
}

/** With owners and permissions. */
function copy(from: string, to: string): void {
  execFileSync('cp', ['-a', from, to])
}

interface ServerDirectory {
  readonly root: string
  /** The data, and the working directory of the server and its children. */
  readonly dir: string
  readonly sockets: string
  readonly account: SystemAccount | null
  readonly logFile: string
}

type RunningStore = RunningProcess & { readonly url: string }

async function serve(
  start: (directory: ServerDirectory) => Promise<RunningStore>,
  directory = createServerDirectory(),
): Promise<TestServer> {
  let server = await start(directory)
  return {
    url: server.url,
    crash: async () => {
      abandoned.add(directory.root)
      // PostgreSQL's children outlive it by a moment, in which they still answer
      await stopProcessesIn(directory.dir, 'SIGKILL', 0)
      await server.kill()
    },
    restart: async () => {
      await server.stop()
      server = await start(directory)
      abandoned.delete(directory.root)
    },
    stop: async () => {
      await server.stop()
      remove(directory.root)
    },
  }
}

function createServerDirectory(): ServerDirectory {
  const account = chooseAccount('/nonexistent')
  const root = mkdtempSync(join(hasMemory() ? MEMORY : '/tmp', 'mailstead-test-'))
  chmodSync(root, 0o700)
  if (account !== null) chownSync(root, account.uid, account.gid)
  const sockets = join(root, 'sock')
  createPrivateDirectory(sockets, account)
  return { root, dir: join(root, 'data'), sockets, account, logFile: join(root, 'log') }
}

/** Whether folders in memory are possible: not in a container with 64 MB of it, and not on a small machine. */
function hasMemory(): boolean {
  try {
    accessSync(MEMORY, constants.W_OK)
    const { bavail, bsize } = statfsSync(MEMORY)
    return Math.min(bavail * bsize, freemem()) >= NEEDED_BYTES
  } catch {
    return false
  }
}

function remove(root: string): void {
  rmSync(root, { recursive: true, force: true })
}

/** As superuser. */
async function administer(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: superuserUrl(url) })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

function printLine(line: string): void {
  process.stderr.write(`${line}\n`)
}
