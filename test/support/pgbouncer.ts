/** PgBouncer of the system, as Debian installs it, before the PostgreSQL of a test. */
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { chooseAccount } from '#bin/supervisor/account.ts'
import { attachReaper } from '#bin/supervisor/child-reaper.ts'
import { lastLines } from '#bin/supervisor/log-file.ts'
import { awaitReady, launch } from '#bin/supervisor/processes.ts'
import { freePort } from './free-ports.ts'
import type { TestPooler } from './pooler.ts'
import { proxiedUrl } from './silent-proxy.ts'

export interface PgBouncerOptions {
  readonly poolMode: 'session' | 'transaction' | 'statement'
  /** Whether it drops the startup parameter `options`; else it refuses it. */
  readonly ignoresOptions: boolean
}

/** The version, or null if it is not installed. Debian's is /usr/sbin/pgbouncer. */
export function findPgBouncer(): string | null {
  try {
    return execFileSync(FILE, ['--version'], { encoding: 'utf8', env: { PATH } }).split('\n', 1)[0] ?? null
  } catch {
    return null
  }
}

const FILE = 'pgbouncer'
const PATH = `${process.env['PATH']}:/usr/sbin`

export async function startPgBouncer(databaseUrl: string, options: PgBouncerOptions): Promise<TestPooler> {
  const account = chooseAccount('/nonexistent') // it refuses to run as root
  const dir = mkdtempSync('/tmp/mailstead-test-')
  const logFile = join(dir, 'log')
  const port = await freePort()
  writeFileSync(join(dir, 'users'), `"${new URL(databaseUrl).username}" ""\n`)
  writeFileSync(join(dir, 'pgbouncer.ini'), configuration(databaseUrl, { ...options, port, users: join(dir, 'users') }))
  chmodSync(dir, 0o755)
  if (account !== null) chownSync(dir, account.uid, account.gid)
  const running = await launch({
    file: FILE,
    args: [join(dir, 'pgbouncer.ini')],
    cwd: dir,
    account,
    logFile,
    env: { PATH },
    stopSignals: ['SIGTERM'],
    graceMs: 5000,
  })
  const reaper = attachReaper(running.pid, 'TERM', dir)
  const stop = async (): Promise<void> => {
    await running.stop()
    reaper.release()
    rmSync(dir, { recursive: true, force: true })
  }
  const state = await awaitReady(running, () => accepts(port), { ms: 20_000 })
  if (state === 'ready') return { url: proxiedUrl(databaseUrl, port), stop }
  const log = lastLines(logFile, 10)
  await stop()
  throw new Error(`PgBouncer did not start: ${state}\n${log}`)
}

function configuration(
  databaseUrl: string,
  { poolMode, ignoresOptions, port, users }: PgBouncerOptions & { readonly port: number; readonly users: string },
): string {
  const url = new URL(databaseUrl)
  const host = url.searchParams.get('host') ?? url.hostname
  return [
    '[databases]',
    `* = host=${host} port=${url.searchParams.get('port') ?? (url.port || '5432')}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = trust',
    `auth_file = ${users}`,
    `pool_mode = ${poolMode}`,
    'default_pool_size = 100',
    ...(ignoresOptions ? ['ignore_startup_parameters = options'] : []),
    '',
  ].join('\n')
}

function accepts(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect({ host: '127.0.0.1', port })
  socket.once('connect', () => resolve(true))
  socket.once('error', () => resolve(false))
  return promise.finally(() => socket.destroy())
}
