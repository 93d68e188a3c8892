/**
 * One Redis of our own on a private unix socket (no TCP), with an append-only
 * file that is synced every second. What it holds can be rebuilt from
 * PostgreSQL, so a file that Redis itself cannot read any more is moved aside
 * and the start goes on empty. A server left over by a killed supervisor is
 * stopped first. Failures are Trouble with the last lines of the log.
 */
import { existsSync, renameSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { Account } from './account.ts'
import { makePrivate } from './data-directory.ts'
import { leash } from './child-reaper.ts'
import { lastLines } from './log-file.ts'
import { awaitReady, launch, type Running, sweep } from './processes.ts'
import { findRedis } from './redis-binaries.ts'
import { type Say, Trouble } from './user-error.ts'

export interface RedisOptions {
  /** Its data folder: real path, its parent can be entered by the account. */
  readonly dir: string
  /** Private folder for the socket; its path is at most 85 bytes. */
  readonly sockets: string
  readonly account: Account | null
  readonly logFile: string
  readonly say: Say
  /** For tests that throw the data away: removed when this process dies. */
  readonly removeAtDeath?: string
  /** Ends the wait for a start. */
  readonly signal?: AbortSignal
}

/** A running Redis: `url` is `unix:///path/redis.sock`. */
export interface Redis extends Running {
  readonly url: string
}

const STOP_GRACE_MS = 10_000
/** Reading back a large append-only file takes its time; a start that is refused ends at once. */
const READY_MS = 120_000

/** Starts the server and waits until it answers. Throws Trouble when it does not. */
export async function startRedis(options: RedisOptions): Promise<Redis> {
  const { dir, account, say, signal } = options
  makePrivate(dir, account)
  await sweep(dir, 'SIGTERM', STOP_GRACE_MS)
  const first = await attempt(options)
  if (typeof first !== 'string') return first
  if (signal?.aborted === true || !existsSync(join(dir, 'appendonlydir'))) throw new Trouble(first)
  const aside = `${dir}.unreadable-${Date.now()}`
  renameSync(dir, aside)
  makePrivate(dir, account)
  say(`Redis could not read its data; they are set aside in ${aside}, and the queue is rebuilt from PostgreSQL.`)
  const second = await attempt(options)
  if (typeof second === 'string') throw new Trouble(second)
  return second
}

/** The running server, or why it did not start. */
async function attempt({
  dir,
  sockets,
  account,
  logFile,
  say,
  removeAtDeath,
  signal,
}: RedisOptions): Promise<Redis | string> {
  const { file, libraries } = findRedis(account, say)
  const socket = join(sockets, 'redis.sock')
  rmSync(socket, { force: true })
  const server = await launch({
    file,
    args: argumentsFor(dir, socket),
    cwd: dir,
    account,
    logFile,
    env: { LD_LIBRARY_PATH: libraries },
    stopSignals: ['SIGTERM'],
    graceMs: STOP_GRACE_MS,
  })
  const tie = leash(server.pid, 'TERM', removeAtDeath)
  void server.exited.then(tie.release)
  const state = await awaitReady(server, () => answers(socket), { ms: READY_MS, signal })
  if (state === 'ready') return { ...server, url: `unix://${socket.split('/').map(encodeURIComponent).join('/')}` }
  await server.stop()
  return `Redis did not start: ${state}. The end of ${logFile}:\n${lastLines(logFile, 8)}`
}

/** One row per setting. */
function argumentsFor(dir: string, socket: string): string[] {
  const settings: Readonly<Record<string, string>> = {
    port: '0',
    unixsocket: socket,
    unixsocketperm: '700',
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

/** PING over the socket: true on PONG, false while it loads or does not listen. */
async function answers(socket: string): Promise<boolean> {
  if (!existsSync(socket)) return false
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const link = connect(socket, () => link.write('PING\r\n'))
  link.setTimeout(1000, () => resolve(false))
  link.once('data', (reply) => resolve(reply.toString().startsWith('+PONG')))
  link.once('error', () => resolve(false))
  link.once('close', () => resolve(false))
  const isUp = await promise
  link.destroy()
  return isUp
}
