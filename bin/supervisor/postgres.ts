/**
 * One PostgreSQL of our own: makes the cluster on first use, starts it on a
 * private unix socket (no TCP), and says when it takes connections. A server
 * left over by a killed supervisor is stopped first, a stale postmaster.pid is
 * removed, so a start after kill -9 of anything just works. Data files belong
 * to the store account. Failures are Trouble with the last lines of the log.
 */
import { spawnSync } from 'node:child_process'
import { chownSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { type Account, identity } from './account.ts'
import { leash } from './child-reaper.ts'
import { lastLines } from './log-file.ts'
import { findPostgres, type PostgresBinaries } from './postgres-binaries.ts'
import { awaitReady, launch, type Running, sweep } from './processes.ts'
import { makePrivate } from './data-directory.ts'
import { Trouble } from './user-error.ts'

export interface PostgresOptions {
  /** The cluster's folder: real path, its parent can be entered by the account. */
  readonly dir: string
  /** Private folder for the socket; its path is at most 85 bytes. */
  readonly sockets: string
  readonly account: Account | null
  readonly logFile: string
  /** False only for tests that throw the data away: no fsync, whole folder `removeAtDeath` when this process dies. */
  readonly durable?: boolean
  readonly removeAtDeath?: string
  /** Ends the wait for a start. */
  readonly signal?: AbortSignal
}

/** A running PostgreSQL: `url` is the database `mailstead`, as a superuser of this cluster. */
export interface Postgres extends Running {
  readonly url: string
}

const STOP_GRACE_MS = 30_000
/** Crash recovery of a full WAL (2 GB) takes its time; a start that is refused ends at once. */
const READY_MS = 300_000
const NAME = 'mailstead'

/** Starts the server and waits until it answers. Throws Trouble when it does not. */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const { dir, account, sockets, logFile, signal } = options
  const binaries = findPostgres(account, dataMajor(dir))
  await clearLeftovers(options)
  if (dataMajor(dir) === null) makeCluster(options, binaries)
  writeSettings(options, binaries)
  const server = await launch({
    file: join(binaries.bin, 'postgres'),
    args: ['-D', dir],
    cwd: dir,
    account,
    logFile,
    stopSignals: ['SIGINT', 'SIGQUIT'],
    graceMs: STOP_GRACE_MS,
  })
  const tie = leash(server.pid, options.removeAtDeath === undefined ? 'INT' : 'QUIT', options.removeAtDeath)
  void server.exited.then(tie.release)
  const state = await awaitReady(server, () => isReady(dir, server.pid), { ms: READY_MS, signal })
  if (state !== 'ready') {
    await server.stop()
    throw new Trouble(`PostgreSQL did not start: ${state}. The end of ${logFile}:\n${lastLines(logFile, 8)}`)
  }
  await createDatabase(sockets)
  return { ...server, url: urlOf(sockets, NAME) }
}

/** Connection string for a database of the cluster with this socket folder. `localhost` only makes it a valid URL: `host` wins. */
function urlOf(sockets: string, database: string): string {
  return `postgres://${NAME}@localhost/${database}?host=${encodeURIComponent(sockets)}`
}

/** The version that wrote the data in this folder; null when there are none. Throws Trouble where there is something else: it may be data. */
function dataMajor(dir: string): number | null {
  const file = join(dir, 'PG_VERSION')
  const major = existsSync(file) ? Number.parseInt(readFileSync(file, 'utf8'), 10) : null
  if (major === null && !hasAnything(dir)) return null
  if (major !== null && major > 0) return major
  throw new Trouble(
    `${dir} is not empty, and ${file}, which says what wrote it, is ${major === null ? 'not there' : 'damaged'}. ` +
      'Bring the data back from a backup, or move the folder away to begin empty.',
  )
}

function hasAnything(dir: string): boolean {
  return existsSync(dir) && readdirSync(dir).length > 0
}

/**
 * Nobody may work on the data when we start: PostgreSQL itself trusts the pid in postmaster.pid, which after
 * kill -9 may belong to any other process by now. Who has the folder as working directory is the real answer.
 */
async function clearLeftovers({ dir, sockets }: PostgresOptions): Promise<void> {
  await sweep(dir, 'SIGINT', STOP_GRACE_MS)
  const socket = join(sockets, '.s.PGSQL.5432')
  for (const file of [join(dir, 'postmaster.pid'), socket, `${socket}.lock`]) rmSync(file, { force: true })
}

/** initdb beside the final place, then one rename: a start killed half-way leaves no half cluster. */
function makeCluster({ dir, account, durable = true }: PostgresOptions, { bin }: PostgresBinaries): void {
  const half = `${dir}.new`
  rmSync(half, { recursive: true, force: true })
  makePrivate(half, account)
  const args = ['-D', half, '-U', NAME, '-E', 'UTF8', '--locale=C', '--auth-local=trust', '--auth-host=reject']
  if (!durable) args.push('--no-sync')
  const run = spawnSync(join(bin, 'initdb'), args, {
    ...identity(account),
    cwd: half,
    encoding: 'utf8',
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
  })
  if (run.status !== 0) {
    throw new Trouble(
      `PostgreSQL could not make its data folder ${dir}: ${run.error?.message ?? (run.stderr || run.stdout).trim()}`,
    )
  }
  rmSync(dir, { recursive: true, force: true })
  renameSync(half, dir)
}

/** One row per setting; rewritten at every start. `operator.conf` beside it is the operator's and wins. */
function writeSettings({ dir, sockets, account, durable = true }: PostgresOptions, { bin }: PostgresBinaries): void {
  const compression = hasLz4(bin) ? 'lz4' : 'pglz'
  const megabytes = Math.max(32, Math.min(256, Math.floor(totalmem() / 8 / 1_048_576)))
  const settings: Readonly<Record<string, string>> = {
    listen_addresses: '',
    // A list: quoted, because a path may hold commas and spaces.
    unix_socket_directories: `"${sockets.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
    // a process has 16 at most: room for some outbound processes more, commands and the operator's own; tests run many systems at once
    max_connections: durable ? '300' : '1000',
    shared_buffers: `${durable ? megabytes : 64}MB`,
    fsync: durable ? 'on' : 'off',
    synchronous_commit: durable ? 'on' : 'off',
    full_page_writes: durable ? 'on' : 'off',
    wal_compression: compression,
    default_toast_compression: compression,
    max_wal_size: '2GB',
    checkpoint_timeout: '15min',
    autovacuum: 'on',
    jit: 'off',
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_line_prefix: '%m [%p] ',
    log_checkpoints: 'off',
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'`)
  const file = join(dir, 'postgresql.conf')
  const head = '# Written at every start. Your own settings go into operator.conf beside this file.'
  writeFileSync(file, [head, ...lines, "include_if_exists 'operator.conf'", ''].join('\n'), { mode: 0o600 })
  if (account !== null) chownSync(file, account.uid, account.gid)
}

/** Whether lz4 was compiled in: a server told to use what it lacks would not start. */
function hasLz4(bin: string): boolean {
  return readFileSync(join(bin, 'postgres')).includes('LZ4_compress_default')
}

/** postmaster.pid, line 1 and 8: the server writes `ready` there when it takes connections. */
function isReady(dir: string, pid: number): boolean {
  const lines = readLines(join(dir, 'postmaster.pid'))
  return Number(lines[0]) === pid && lines[7]?.trim() === 'ready'
}

/** Empty where it is not there (any more). */
function readLines(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n')
  } catch {
    return []
  }
}

async function createDatabase(sockets: string): Promise<void> {
  const client = new Client({ connectionString: urlOf(sockets, 'postgres') })
  await client.connect()
  try {
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [NAME])
    if (found.rowCount === 0) await client.query(`CREATE DATABASE ${NAME}`)
  } finally {
    await client.end()
  }
}
