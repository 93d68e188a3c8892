/**
 * PostgreSQL and Redis as the configuration has them: each either given by its URL, or embedded under DATA_DIR, started, watched and
 * started again when it dies. While they run, `DATA_DIR/run/stores.json` tells the commands of the same machine where they are.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '#config/load.ts'
import { closeHome, type Home, openHome } from './data-directory.ts'
import { keep, type Kept } from './restart-policy.ts'
import { lockHolder } from './lock.ts'
import { startPostgres } from './postgres.ts'
import { isAlive } from './process-id.ts'
import { startRedis } from './redis.ts'
import { type Say, Trouble } from './user-error.ts'

export interface StoreUrls {
  readonly databaseUrl: string
  readonly redisUrl: string
}

export interface Stores extends StoreUrls {
  stop(): Promise<void>
}

/** The lock file of the supervisor of a data folder. */
export function lockFile(dataDir: string): string {
  return join(dataDir, 'run/lock')
}

/** Starts what is not given. Throws Trouble (with nothing left running) when that fails or `signal` says stop. */
export async function openStores(config: Config, say: Say, signal: AbortSignal): Promise<Stores> {
  const logDir = join(config.dataDir, 'log')
  mkdirSync(logDir, { recursive: true })
  const home = config.databaseUrl === null || config.redisUrl === null ? openHome(config.dataDir, say) : null
  const kept: Kept[] = []
  const stop = async (): Promise<void> => {
    rmSync(urlFile(config.dataDir), { force: true })
    await Promise.all(kept.map((one) => one.stop()))
    if (home !== null) closeHome(home)
  }
  const embed = { home, logDir, say, signal, kept }
  const [database, redis] = await Promise.allSettled([
    config.databaseUrl ?? embedPostgres(embed),
    config.redisUrl ?? embedRedis(embed),
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

/** The configuration with both URLs: those given, else those of the running `start` of this data folder. Throws Trouble when none runs. */
export function attachStores(config: Config): Config & StoreUrls {
  const { databaseUrl, redisUrl } = config
  if (databaseUrl !== null && redisUrl !== null) return { ...config, databaseUrl, redisUrl }
  const running = readUrls(config.dataDir)
  if (running === null) {
    throw new Trouble(
      `Mailstead is not running with the data in ${config.dataDir}. ` +
        'Start it (npm start), or set DATABASE_URL and REDIS_URL.',
    )
  }
  return { ...config, databaseUrl: databaseUrl ?? running.databaseUrl, redisUrl: redisUrl ?? running.redisUrl }
}

interface Embedding {
  readonly home: Home | null
  readonly logDir: string
  readonly say: Say
  readonly signal: AbortSignal
  readonly kept: Kept[]
}

async function embedPostgres({ home, logDir, say, signal, kept }: Embedding): Promise<string> {
  if (home === null) throw new Error('no home for PostgreSQL')
  const options = {
    dir: join(home.dir, 'postgres'),
    sockets: home.sockets,
    account: home.account,
    logFile: join(logDir, 'postgres.log'),
  }
  const first = await startPostgres({ ...options, signal })
  kept.push(keep('PostgreSQL', first, (stopping) => startPostgres({ ...options, signal: stopping }), say))
  return first.url
}

async function embedRedis({ home, logDir, say, signal, kept }: Embedding): Promise<string> {
  if (home === null) throw new Error('no home for Redis')
  const options = {
    dir: join(home.dir, 'redis'),
    sockets: home.sockets,
    account: home.account,
    logFile: join(logDir, 'redis.log'),
    say,
  }
  const first = await startRedis({ ...options, signal })
  kept.push(keep('Redis', first, (stopping) => startRedis({ ...options, signal: stopping }), say))
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
