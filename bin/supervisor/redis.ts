/**
 * The embedded Redis, on a private unix socket (no TCP), with an append-only file that is synced every second. Its
 * content can be rebuilt from PostgreSQL: if Redis cannot read the file, the folder is renamed and Redis starts empty.
 * A server that a killed supervisor left behind is stopped first. A failure is a UserError with the last lines of the
 * log.
 */
import { existsSync, renameSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { SystemAccount } from './account.ts'
import { createPrivateDirectory } from './data-directory.ts'
import { attachReaper } from './child-reaper.ts'
import { lastLines } from './log-file.ts'
import { awaitReady, launch, type RunningProcess, stopProcessesIn } from './processes.ts'
import { findRedis } from './redis-binaries.ts'
import { type PrintLine, UserError } from './user-error.ts'

export interface RedisOptions {
  /** The data folder: a path without links, whose parent the account can enter. */
  readonly dir: string
  /** Private folder for the socket, with a path of at most 85 bytes. */
  readonly sockets: string
  readonly account: SystemAccount | null
  /** The group of `sockets`, which may connect; by default only the account may. */
  readonly socketGroup?: number | null
  readonly logFile: string
  readonly say: PrintLine
  /** In tests: this folder is removed when this process dies. */
  readonly removeOnExit?: string
  /** Aborts the start. */
  readonly signal?: AbortSignal
}

/** A running Redis. `url` is `unix:///path/redis.sock`. */
export interface RedisServer extends RunningProcess {
  readonly url: string
}

const STOP_GRACE_MS = 10_000
/** Loading a large append-only file takes time. A server that refuses to start exits immediately. */
const READY_MS = 120_000
const START_AGAIN = 'Correct what it reports, or set REDIS_URL to your own Redis, then start again.'

/** Starts the server and waits until it is ready. @throws UserError if it does not start. */
export async function startRedis(options: RedisOptions): Promise<RedisServer> {
  const { dir, account, say, signal } = options
  createPrivateDirectory(dir, account)
  await stopProcessesIn(dir, 'SIGTERM', STOP_GRACE_MS)
  const first = await tryStart(options)
  if (typeof first !== 'string') return first
  if (signal?.aborted === true || !existsSync(join(dir, 'appendonlydir')))
    throw new UserError(`${first}\n`, START_AGAIN)
  const movedTo = `${dir}.unreadable-${Date.now()}`
  renameSync(dir, movedTo)
  createPrivateDirectory(dir, account)
  say(`Redis could not read its data. They are moved to ${movedTo}, and the queue is rebuilt from PostgreSQL.`)
  const second = await tryStart(options)
  if (typeof second === 'string') throw new UserError(`${second}\n`, START_AGAIN)
  return second
}

/** Returns the running server, or why it did not start. */
async function tryStart({
  dir,
  sockets,
  account,
  socketGroup = null,
  logFile,
  say,
  removeOnExit: removeAtDeath,
  signal,
}: RedisOptions): Promise<RedisServer | string> {
  const { file, libraries } = findRedis(account, say)
  const socket = join(sockets, 'redis.sock')
  rmSync(socket, { force: true })
  const server = await launch({
    file,
    args: argumentsFor(dir, socket, socketGroup === null ? '700' : '770'),
    cwd: dir,
    account,
    logFile,
    env: { LD_LIBRARY_PATH: libraries },
    stopSignals: ['SIGTERM'],
    graceMs: STOP_GRACE_MS,
  })
  const reaper = attachReaper(server.pid, 'TERM', removeAtDeath)
  void server.exited.then(reaper.release)
  const state = await awaitReady(server, () => isResponding(socket), { ms: READY_MS, signal })
  if (state === 'ready') return { ...server, url: `unix://${socket.split('/').map(encodeURIComponent).join('/')}` }
  await server.stop()
  return `Redis did not start: ${state}. Last lines of ${logFile}:\n${lastLines(logFile, 8)}`
}

/** The command line, with one entry per setting. */
function argumentsFor(dir: string, socket: string, permissions: string): string[] {
  const settings: Readonly<Record<string, string>> = {
    port: '0',
    unixsocket: socket,
    unixsocketperm: permissions,
    dir,
    daemonize: 'no',
    appendonly: 'yes',
    appendfsync: 'everysec',
    'aof-load-truncated': 'yes',
    save: '',
    'maxmemory-policy': 'noeviction',
    'always-show-logo': 'no',
    loglevel: 'notice',
  }
  return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
}

/** Sends PING: true on PONG, false while Redis loads its data or does not listen. */
async function isResponding(socket: string): Promise<boolean> {
  if (!existsSync(socket)) return false
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socketConnection = connect(socket, () => socketConnection.write('PING\r\n'))
  socketConnection.setTimeout(1000, () => resolve(false))
  socketConnection.once('data', (reply) => resolve(reply.toString().startsWith('+PONG')))
  socketConnection.once('error', () => resolve(false))
  socketConnection.once('close', () => resolve(false))
  const isUp = await promise
  socketConnection.destroy()
  return isUp
}
