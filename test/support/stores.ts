/**
 * Starts stores for tests. `createDatabase` clones a migrated template in the cluster of the test run (TEST_PG_URL),
 * or, when mocha runs one file directly, in a cluster that starts on first use. `startRedis` and `startPostgres` start
 * a server for one test, which may crash it. All files are in /tmp and are removed when the test process ends, however
 * it ends.
 */
import { chmodSync, chownSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { type SystemAccount, chooseAccount } from '#bin/supervisor/account.ts'
import { createPrivateDirectory } from '#bin/supervisor/data-directory.ts'
import { startPostgres as launchPostgres } from '#bin/supervisor/postgres.ts'
import type { RunningProcess } from '#bin/supervisor/processes.ts'
import { startRedis as launchRedis } from '#bin/supervisor/redis.ts'
import { migrate } from '#src/stores/migrate.ts'

export interface TestDatabase {
  readonly url: string
  /** Also with connections still open. */
  drop(): Promise<void>
}

export interface TestServer {
  /** The same after `restart`. */
  readonly url: string
  /** kill -9; resolves when it is gone. */
  crash(): Promise<void>
  /** Starts it again on the same data; a running one is stopped in order first. */
  restart(): Promise<void>
  /** Stops it and removes its files. */
  stop(): Promise<void>
}

const TEMPLATE = 'mailstead_template'
let shared: Promise<TestServer> | null = null
/** Folders of crashed servers that nobody stopped: their leash is gone with them. */
const abandoned = new Set<string>()
process.on('exit', () => abandoned.forEach(remove))

/** A database of its own, with all migrations applied. */
export async function createDatabase(): Promise<TestDatabase> {
  const adminUrl = process.env['TEST_PG_URL'] ?? (await (shared ??= startTemplateCluster())).url
  const name = `test_${process.pid}_${process.hrtime.bigint()}`
  // Copies files: the default strategy copies each page through the buffers and the WAL, at 14 times the CPU.
  await administer(adminUrl, `CREATE DATABASE ${name} TEMPLATE ${TEMPLATE} STRATEGY file_copy`)
  const url = new URL(adminUrl)
  url.pathname = `/${name}`
  return { url: url.href, drop: () => administer(adminUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) }
}

/** One Redis of its own, on a unix socket. */
export function startRedis(): Promise<TestServer> {
  return serve((directory) =>
    launchRedis({ ...directory, dir: join(directory.root, 'redis'), say: printLine, removeOnExit: directory.root }),
  )
}

/** One PostgreSQL of its own, migrated and with fsync on: for tests that crash it. */
export async function startPostgres(): Promise<TestServer> {
  const server = await serve((directory) =>
    launchPostgres({ ...directory, dir: join(directory.root, 'postgres'), removeOnExit: directory.root }),
  )
  await migrate(server.url)
  return server
}

/** The cluster of a test run: without fsync, with the template database. Its url goes into TEST_PG_URL. */
export async function startTemplateCluster(): Promise<TestServer> {
  const server = await serve((directory) =>
    launchPostgres({
      ...directory,
      dir: join(directory.root, 'postgres'),
      durable: false,
      removeOnExit: directory.root,
    }),
  )
  await administer(server.url, `CREATE DATABASE ${TEMPLATE}`)
  const url = new URL(server.url)
  url.pathname = `/${TEMPLATE}`
  await migrate(url.href)
  return server
}

interface ServerDirectory {
  readonly root: string
  readonly sockets: string
  readonly account: SystemAccount | null
  readonly logFile: string
}

async function serve(
  start: (directory: ServerDirectory) => Promise<RunningProcess & { readonly url: string }>,
): Promise<TestServer> {
  const directory = createServerDirectory()
  let server = await start(directory)
  return {
    url: server.url,
    crash: async () => {
      abandoned.add(directory.root)
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
  // Not TMPDIR: the path of a unix socket is short, and the account must be able to enter it.
  const root = mkdtempSync('/tmp/mailstead-test-')
  chmodSync(root, 0o700)
  if (account !== null) chownSync(root, account.uid, account.gid)
  const sockets = join(root, 'sock')
  createPrivateDirectory(sockets, account)
  return { root, sockets, account, logFile: join(root, 'log') }
}

function remove(root: string): void {
  rmSync(root, { recursive: true, force: true })
}

async function administer(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url })
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
