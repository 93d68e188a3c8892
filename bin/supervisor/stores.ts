/**
 * PostgreSQL and Redis of this installation. Each is either external, with a URL in the settings, or embedded under
 * DATA_DIR: then it is started, supervised and restarted if it dies. While they run, `DATA_DIR/run/stores.json` has
 * their URLs for commands on the same machine.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '#config/load.ts'
import { closeStoreDirectory, type StoreDirectory, openStoreDirectory } from './data-directory.ts'
import { superviseProcess, type SupervisedProcess } from './restart-policy.ts'
import { lockHolder } from './lock.ts'
import { startPostgres } from './postgres.ts'
import { requireStoreUrls } from './package-layout.ts'
import { isAlive } from './process-id.ts'
import { storesGroupId, switchesUsers } from './role-accounts.ts'
import { startRedis } from './redis.ts'
import { type PrintLine, UserError } from './user-error.ts'

export interface StoreUrls {
  readonly databaseUrl: string
  readonly redisUrl: string
}

export interface RunningStores extends StoreUrls {
  stop(): Promise<void>
}

/** The lock file of the supervisor of a data folder. */
export function lockFile(dataDir: string): string {
  return join(dataDir, 'run/lock')
}

/** Starts the embedded stores. @throws UserError if that fails or is aborted; then nothing is left running. */
export async function openStores(config: Config, say: PrintLine, signal: AbortSignal): Promise<RunningStores> {
  requireStoreUrls(config)
  const logDir = join(config.dataDir, 'log')
  mkdirSync(logDir, { recursive: true })
  const directory =
    config.databaseUrl === null || config.redisUrl === null
      ? openStoreDirectory(config.dataDir, say, switchesUsers(config) ? storesGroupId() : null)
      : null
  const supervised: SupervisedProcess[] = []
  const stop = async (): Promise<void> => {
    rmSync(urlFile(config.dataDir), { force: true })
    await Promise.all(supervised.map((one) => one.stop()))
    if (directory !== null) closeStoreDirectory(directory)
  }
  const options = { directory, logDir, say, signal, supervised }
  const [database, redis] = await Promise.allSettled([
    config.databaseUrl ?? embedPostgres(options),
    config.redisUrl ?? embedRedis(options),
  ])
  if (database.status === 'fulfilled' && redis.status === 'fulfilled') {
    const urls = { databaseUrl: database.value, redisUrl: redis.value }
    writeFileSync(urlFile(config.dataDir), JSON.stringify(urls), { mode: 0o600 })
    return { ...urls, stop }
  }
  await stop()
  throw database.status === 'rejected'
    ? database.reason
    : redis.status === 'rejected'
      ? redis.reason
      : new Error('unreachable')
}

/**
 * The configuration with both URLs: from the settings, else from the running `start` with this data folder.
 * @throws UserError if none runs.
 */
export function attachStores(config: Config): Config & StoreUrls {
  const { databaseUrl, redisUrl } = config
  if (databaseUrl !== null && redisUrl !== null) return { ...config, databaseUrl, redisUrl }
  requireStoreUrls(config)
  const running = readUrls(config.dataDir)
  if (running === null) {
    throw new UserError(
      `Mailstead is not running with the data in ${config.dataDir}.`,
      'Start it (npm start), or set DATABASE_URL and REDIS_URL.',
    )
  }
  return { ...config, databaseUrl: databaseUrl ?? running.databaseUrl, redisUrl: redisUrl ?? running.redisUrl }
}

interface EmbedOptions {
  readonly directory: StoreDirectory | null
  readonly logDir: string
  readonly say: PrintLine
  readonly signal: AbortSignal
  readonly supervised: SupervisedProcess[]
}

async function embedPostgres({ directory, logDir, say, signal, supervised }: EmbedOptions): Promise<string> {
  if (directory === null) throw new Error('no data directory for PostgreSQL')
  const options = {
    dir: join(directory.dir, 'postgres'),
    sockets: directory.sockets,
    account: directory.account,
    socketGroup: directory.socketGroup,
    logFile: join(logDir, 'postgres.log'),
  }
  const first = await startPostgres({ ...options, signal })
  supervised.push(
    superviseProcess('PostgreSQL', first, (stopping) => startPostgres({ ...options, signal: stopping }), say),
  )
  return first.url
}

async function embedRedis({ directory, logDir, say, signal, supervised }: EmbedOptions): Promise<string> {
  if (directory === null) throw new Error('no data directory for Redis')
  const options = {
    dir: join(directory.dir, 'redis'),
    sockets: directory.sockets,
    account: directory.account,
    socketGroup: directory.socketGroup,
    logFile: join(logDir, 'redis.log'),
    say,
  }
  const first = await startRedis({ ...options, signal })
  supervised.push(superviseProcess('Redis', first, (stopping) => startRedis({ ...options, signal: stopping }), say))
  return first.url
}

function urlFile(dataDir: string): string {
  return join(dataDir, 'run/stores.json')
}

function readUrls(dataDir: string): StoreUrls | null {
  const holder = lockHolder(lockFile(dataDir))
  if (holder === null || !isAlive(holder)) return null
  try {
    return JSON.parse(readFileSync(urlFile(dataDir), 'utf8')) as StoreUrls
  } catch {
    return null
  }
}
