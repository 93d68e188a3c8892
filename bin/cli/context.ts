/**
 * The context of an operator's command. Its database is that of DATABASE_URL, otherwise that of the `start` that runs with
 * the same DATA_DIR; if none runs, the embedded database is started for the duration of the command. Redis and the master
 * key are opened when they are first used.
 */
import { existsSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Config, loadConfig } from '#config/load.ts'
import { openContext, type Context } from '#src/context.ts'
import { isDatabaseAway } from '#src/stores/db.ts'
import type { Io } from './actions.ts'
import { closeHome, openHome } from '#bin/supervisor/data-directory.ts'
import { type Lock, takeLock } from '#bin/supervisor/lock.ts'
import { startPostgres } from '#bin/supervisor/postgres.ts'
import { attachStores, lockFile } from '#bin/supervisor/stores.ts'
import { Trouble } from '#bin/supervisor/user-error.ts'

/** Longer than a `start` takes. */
const LOCK_WAIT_MS = 20_000

/** Calls `use` with a context and closes it afterwards. @throws Trouble for an error that the operator can fix. */
export async function withContext(io: Io, use: (ctx: Context) => Promise<number>): Promise<number> {
  const config = loadConfig(io.env)
  return withDatabase(config, io, async (databaseUrl) => {
    const context = openContext(
      { ...config, databaseUrl },
      'command',
      () => config.redisUrl ?? attachStores(config).redisUrl,
    )
    try {
      return await use(context.ctx)
    } catch (error) {
      throw explainDatabase(error, databaseUrl)
    } finally {
      await context.close()
    }
  })
}

/** Calls `use` with the URL of the database of this configuration. Waits for another command that has locked the data. */
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

/** The database of the running `start`; null when none runs, and there are data to start a database with. */
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

/** An error that the operator can fix becomes Trouble; any other error stays as it is. */
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
