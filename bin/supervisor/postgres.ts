/**
 * The embedded PostgreSQL: creates the cluster at the first start, starts the server on a private unix socket (no TCP),
 * and waits until it accepts connections. First it stops a server that a killed supervisor left behind and removes a
 * stale postmaster.pid, so a start after kill -9 works. Data files belong to the stores' user. A failure is a UserError
 * with the last lines of the log.
 */
import { spawnSync } from 'node:child_process'
import { chownSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type SystemAccount, spawnIdentity } from './account.ts'
import { attachReaper } from './child-reaper.ts'
import { lastLines } from './log-file.ts'
import { findPostgres, type PostgresBinaries } from './postgres-binaries.ts'
import { ACCESS_SETTINGS, applicationUrl, setUpApplication, SUPERUSER, writeAccessRules } from './postgres-access.ts'
import { awaitReady, launch, type RunningProcess, stopProcessesIn } from './processes.ts'
import { createPrivateDirectory } from './data-directory.ts'
import { UserError } from './user-error.ts'

export interface PostgresOptions {
  /** The folder of the cluster: a path without links, whose parent the account can enter. */
  readonly dir: string
  /** Private folder for the socket, with a path of at most 85 bytes. */
  readonly sockets: string
  readonly account: SystemAccount | null
  /** The group of `sockets`, which may connect; by default only the account may. */
  readonly socketGroup?: number | null
  readonly logFile: string
  /** False only in tests, which discard the data: no fsync, and `removeOnExit` is removed when this process dies. */
  readonly durable?: boolean
  readonly removeOnExit?: string
  /** Aborts the start. */
  readonly signal?: AbortSignal
}

/** A running PostgreSQL. `url` connects to the database `mailstead` as its owner, who has no other rights. */
export interface PostgresServer extends RunningProcess {
  readonly url: string
}

const STOP_GRACE_MS = 30_000
/** Crash recovery of a full WAL (2 GB) may take minutes. A server that refuses to start exits immediately. */
const READY_MS = 300_000

/** Starts the server and waits until it is ready. @throws UserError if it does not start. */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const { dir, account, sockets, logFile, signal } = options
  const binaries = findPostgres(account, dataMajor(dir))
  await clearLeftovers(options)
  if (dataMajor(dir) === null) createCluster(options, binaries)
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
  const reaper = attachReaper(server.pid, options.removeOnExit === undefined ? 'INT' : 'QUIT', options.removeOnExit)
  void server.exited.then(reaper.release)
  const state = await awaitReady(server, () => isReady(dir, server.pid), { ms: READY_MS, signal })
  if (state !== 'ready') {
    await server.stop()
    throw new UserError(
      `PostgreSQL did not start: ${state}. Last lines of ${logFile}:\n${lastLines(logFile, 8)}\n`,
      'Correct what they report, then start again.',
    )
  }
  await setUpApplication(sockets)
  return { ...server, url: applicationUrl(sockets) }
}

/** The major version of the data in this folder; null = empty. @throws UserError if the folder holds anything else. */
function dataMajor(dir: string): number | null {
  const file = join(dir, 'PG_VERSION')
  const major = existsSync(file) ? Number.parseInt(readFileSync(file, 'utf8'), 10) : null
  if (major === null && !hasAnything(dir)) return null
  if (major !== null && major > 0) return major
  throw new UserError(
    `${dir} is not empty, but ${file}, which names the version of the data, ` +
      `is ${major === null ? 'missing' : 'damaged'}.`,
    'Restore the data from a backup, or move the folder away to start without data.',
  )
}

function hasAnything(dir: string): boolean {
  return existsSync(dir) && readdirSync(dir).length > 0
}

/**
 * Stops a server that still uses the data. PostgreSQL itself trusts the pid in postmaster.pid, but after kill -9 that
 * pid may belong to another process. The reliable sign is a process whose working directory is the folder.
 */
async function clearLeftovers({ dir, sockets }: PostgresOptions): Promise<void> {
  await stopProcessesIn(dir, 'SIGINT', STOP_GRACE_MS)
  const socket = join(sockets, '.s.PGSQL.5432')
  for (const file of [join(dir, 'postmaster.pid'), socket, `${socket}.lock`]) rmSync(file, { force: true })
}

/** Runs initdb in a temporary folder and renames it, so that a killed start leaves no partial cluster. */
function createCluster({ dir, account, durable = true }: PostgresOptions, { bin }: PostgresBinaries): void {
  const partial = `${dir}.new`
  rmSync(partial, { recursive: true, force: true })
  createPrivateDirectory(partial, account)
  const args = ['-D', partial, '-U', SUPERUSER, '-E', 'UTF8', '--locale=C', '--auth-local=peer', '--auth-host=reject']
  if (!durable) args.push('--no-sync')
  const run = spawnSync(join(bin, 'initdb'), args, {
    ...spawnIdentity(account),
    cwd: partial,
    encoding: 'utf8',
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
  })
  if (run.status !== 0) {
    throw new UserError(
      `initdb failed to create ${dir}: ${run.error?.message ?? (run.stderr || run.stdout).trim()}\n`,
      'Correct what it reports, or set DATABASE_URL to your own PostgreSQL.',
    )
  }
  rmSync(dir, { recursive: true, force: true })
  renameSync(partial, dir)
}

/** Writes postgresql.conf at every start. The operator's `operator.conf` in the same folder overrides it. */
function writeSettings(
  { dir, sockets, account, socketGroup = null, durable = true, removeOnExit }: PostgresOptions,
  { bin }: PostgresBinaries,
): void {
  writeAccessRules(dir, account)
  const compression = hasLz4(bin) ? 'lz4' : 'pglz'
  const settings: Readonly<Record<string, string>> = {
    listen_addresses: '',
    // a list, so the path is quoted: it may contain commas and spaces
    unix_socket_directories: `"${sockets.replaceAll('"', '""')}"`,
    unix_socket_permissions: socketGroup === null ? '0700' : '0770',
    ...ACCESS_SETTINGS,
    // each process opens at most 20: leaves room for more outbound processes, commands and the operator's own
    // connections; tests run many systems at the same time
    max_connections: durable ? '300' : '1000',
    // more is not faster: the queue is read by key, and what is not here is in the cache of the system
    shared_buffers: `${durable ? 32 : 64}MB`,
    fsync: durable ? 'on' : 'off',
    synchronous_commit: durable ? 'on' : 'off',
    full_page_writes: durable ? 'on' : 'off',
    wal_compression: compression,
    default_toast_compression: compression,
    // memory that is never used: no transaction is serializable, and there are no subscriptions
    max_pred_locks_per_transaction: '10',
    max_logical_replication_workers: '0',
    max_wal_size: '2GB',
    checkpoint_timeout: '15min',
    autovacuum: 'on',
    jit: 'off',
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_line_prefix: '%m [%p] ',
    log_checkpoints: 'off',
    // a killed server leaves its segments behind: in the folder, they are removed with it
    ...(removeOnExit === undefined ? {} : { dynamic_shared_memory_type: 'mmap' }),
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'`)
  const file = join(dir, 'postgresql.conf')
  const head = '# Overwritten at every start. Put your own settings into operator.conf in this folder.'
  writeFileSync(file, [head, ...lines, "include_if_exists 'operator.conf'", ''].join('\n'), { mode: 0o600 })
  if (account !== null) chownSync(file, account.uid, account.gid)
}

/** Whether the server supports lz4. It would not start with a setting that it does not support. */
function hasLz4(bin: string): boolean {
  return readFileSync(join(bin, 'postgres')).includes('LZ4_compress_default')
}

/** Reads lines 1 and 8 of postmaster.pid: the server writes `ready` when it accepts connections. */
function isReady(dir: string, pid: number): boolean {
  const lines = readLines(join(dir, 'postmaster.pid'))
  return Number(lines[0]) === pid && lines[7]?.trim() === 'ready'
}

/** Empty if the file does not exist. */
function readLines(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n')
  } catch {
    return []
  }
}
