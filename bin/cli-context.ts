/**
 * The context of an operator's command. The database is the one given by DATABASE_URL, else that of the `start` that runs with the same
 * DATA_DIR; does none run, the embedded one is started for as long as the command takes. Redis and the vault open when first touched.
 */
import { existsSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { type Config, loadConfig } from '#config/load.ts'
import { systemClock } from '#src/clock.ts'
import type { Context } from '#src/context.ts'
import { isDatabaseAway, openDb } from '#src/db.ts'
import { openRedis, type Redis } from '#src/redis.ts'
import { loadMasterKey, openVault, type Vault } from '#src/vault.ts'
import type { Io } from './cli.ts'
import { closeHome, openHome } from './supervisor/home.ts'
import { type Lock, takeLock } from './supervisor/lock.ts'
import { startPostgres } from './supervisor/postgres.ts'
import { attachStores, lockFile } from './supervisor/stores.ts'
import { Trouble } from './supervisor/trouble.ts'

/** A start that is under way is ready long before. */
const LOCK_WAIT_MS = 20_000

/** Gives `use` a context and closes it afterwards. Throws Trouble for what the operator can mend. */
export async function withContext(io: Io, use: (ctx: Context) => Promise<number>): Promise<number> {
  const config = loadConfig(io.env)
  return withDatabase(config, io, async (databaseUrl) => {
    const context = openContext({ ...config, databaseUrl })
    try {
      return await use(context.ctx)
    } catch (error) {
      throw explainDatabase(error, databaseUrl)
    } finally {
      await context.close()
    }
  })
}

/** Gives `use` the URL of the database that belongs to this configuration. Another command that has the data is waited for. */
export async function withDatabase<T>(config: Config, io: Io, use: (databaseUrl: string) => Promise<T>): Promise<T> {
  for (const end = Date.now() + LOCK_WAIT_MS; ; await sleep(100)) {
    const running = config.databaseUrl ?? runningDatabase(config)
    if (running !== null) return use(running)
    const lock = lockData(config)
    if (typeof lock !== 'number') return await withOwnDatabase(config, io, use).finally(() => lock.release())
    if (Date.now() > end)
      throw new Trouble(
        `The data in ${config.dataDir} are in use by process ${lock}, which does not end. Try again later.`,
      )
  }
}

/** That of the running `start`; null when none runs and there are data to start one on. */
function runningDatabase(config: Config): string | null {
  try {
    return attachStores(config).databaseUrl
  } catch (error) {
    if (error instanceof Trouble && existsSync(join(config.dataDir, 'stores/postgres/PG_VERSION'))) return null
    throw error
  }
}

function lockData({ dataDir }: Config): Lock | number {
  mkdirSync(dirname(lockFile(dataDir)), { recursive: true })
  return takeLock(lockFile(dataDir))
}

async function withOwnDatabase<T>(config: Config, io: Io, use: (databaseUrl: string) => Promise<T>): Promise<T> {
  const home = openHome(config.dataDir, (line) => io.err(`${line}\n`))
  const logFile = join(config.dataDir, 'log/postgres.log')
  mkdirSync(dirname(logFile), { recursive: true })
  const server = await startPostgres({
    dir: join(home.dir, 'postgres'),
    sockets: home.sockets,
    account: home.account,
    logFile,
  })
  try {
    return await use(server.url)
  } finally {
    await server.stop()
    closeHome(home)
  }
}

interface Opened {
  readonly ctx: Context
  close(): Promise<void>
}

function openContext(config: Config & { readonly databaseUrl: string }): Opened {
  // stdout is for results, and what is away is told in words
  const log = pino({ level: 'error', base: null }, pino.destination({ dest: 2, sync: true }))
  const db = openDb(config.databaseUrl, log, 2)
  let vault: Vault | null = null
  let redis: Redis | null = null
  const ctx: Context = {
    config,
    db,
    log,
    clock: systemClock,
    get vault() {
      return (vault ??= openVault(loadMasterKey(config)))
    },
    get redis() {
      return (redis ??= openRedis(config.redisUrl ?? attachStores(config).redisUrl, log))
    },
  }
  return {
    ctx,
    async close() {
      redis?.disconnect()
      await db.close()
    },
  }
}

/** What the operator can mend becomes Trouble; anything else stays what it is. */
export function explainDatabase(error: unknown, databaseUrl: string): unknown {
  const message = error instanceof Error ? error.message || String(error) : String(error)
  if (isDatabaseAway(error)) return new Trouble(`PostgreSQL at ${placeOf(databaseUrl)} cannot be reached (${message}).`)
  const code = error instanceof Error && 'code' in error ? error.code : ''
  if (code === '42P01' || code === '42703')
    return new Trouble('The database is not at this version: run mailstead migrate first.')
  return error
}

/** A URL without its user and password. */
export function placeOf(url: string): string {
  if (!URL.canParse(url)) return 'DATABASE_URL'
  const { host, pathname, searchParams } = new URL(url)
  return `${searchParams.get('host') ?? host}${pathname}`
}
