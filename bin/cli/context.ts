/**
 * The context of an operator's command. Its database is that of DATABASE_URL, otherwise that of the `start` that runs
 * with the same DATA_DIR; if none runs, the embedded database is started for the duration of the command. Redis and the
 * master key are opened when they are first used.
 */
import { existsSync, mkdirSync } from 'node:fs'
import { hostname, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { environment } from '#config/environment.ts'
import { type Config, loadConfig } from '#config/load.ts'
import { resolveKeyPrefix } from '#src/auth/key-prefix.ts'
import { openContext, type Context } from '#src/context.ts'
import type { Actor } from '#src/stores/audit.ts'
import { isDatabaseAway } from '#src/stores/db.ts'
import type { CommandIo } from './call.ts'
import { closeStoreDirectory, openStoreDirectory } from '#bin/supervisor/data-directory.ts'
import { type DataLock, acquireLock } from '#bin/supervisor/lock.ts'
import { startPostgres } from '#bin/supervisor/postgres.ts'
import { storesGroupId, switchesUsers } from '#bin/supervisor/role-accounts.ts'
import { attachStores, lockFile } from '#bin/supervisor/stores.ts'
import { UserError } from '#bin/supervisor/user-error.ts'

/** Longer than a `start` needs. */
const LOCK_WAIT_MS = 20_000

interface CommandOptions {
  /** The command changes the prefix of the installation, and so may have another one. */
  readonly acceptsKeyPrefix?: boolean
}

/**
 * Calls `use` with a context and closes it afterwards.
 * @throws UserError for an error that the operator can fix, ConfigError if KEY_PREFIX is not that of the installation.
 */
export async function withContext(
  io: CommandIo,
  use: (ctx: Context) => Promise<number>,
  { acceptsKeyPrefix = false }: CommandOptions = {},
): Promise<number> {
  const config = loadConfig(io.env)
  return withDatabase(config, io, async (databaseUrl) => {
    const context = openContext({ ...config, databaseUrl }, 'command', {
      keysFor: null,
      findRedis: () => config.redisUrl ?? attachStores(config).redisUrl,
      actor: commandActor(io.command ?? 'command'),
    })
    try {
      if (!acceptsKeyPrefix) await resolveKeyPrefix(context.ctx.db, config)
      return await use(context.ctx)
    } catch (error) {
      throw explainDatabase(error, databaseUrl)
    } finally {
      await context.close()
    }
  })
}

/** The user of the operating system who runs a command, for the audit log; behind sudo the user who called it. */
export function commandActor(command: string): Actor {
  const user = environment['SUDO_USER'] ?? userName()
  return {
    kind: 'cli',
    name: `${user}@${hostname()}`,
    action: command,
    workspaceId: null,
    address: null,
    requestId: null,
  }
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}` // without an entry in passwd, as in some containers
  }
}

/**
 * Calls `use` with the URL of the database of this configuration. Waits for another command that has locked the data.
 */
export async function withDatabase<T>(
  config: Config,
  io: CommandIo,
  use: (databaseUrl: string) => Promise<T>,
): Promise<T> {
  for (const end = Date.now() + LOCK_WAIT_MS; ; await sleep(100)) {
    const running = config.databaseUrl ?? findRunningDatabase(config)
    if (running !== null) return use(running)
    const lock = lockData(config)
    if (typeof lock !== 'number') return await withEmbeddedDatabase(config, io, use).finally(() => lock.release())
    if (Date.now() > end)
      throw new UserError(`Process ${lock} uses the data in ${config.dataDir} and does not end.`, 'Try again later.')
  }
}

/** The database of the running `start`; null if none runs but its data exist, so that a database can be started. */
function findRunningDatabase(config: Config): string | null {
  try {
    return attachStores(config).databaseUrl
  } catch (error) {
    if (error instanceof UserError && existsSync(join(config.dataDir, 'stores/postgres/PG_VERSION'))) return null
    throw error
  }
}

function lockData({ dataDir }: Config): DataLock | number {
  mkdirSync(dirname(lockFile(dataDir)), { recursive: true })
  return acquireLock(lockFile(dataDir))
}

async function withEmbeddedDatabase<T>(
  config: Config,
  io: CommandIo,
  use: (databaseUrl: string) => Promise<T>,
): Promise<T> {
  const group = switchesUsers(config) ? storesGroupId() : null
  const directory = openStoreDirectory(config.dataDir, (line) => io.err(`${line}\n`), group)
  const logFile = join(config.dataDir, 'log/postgres.log')
  mkdirSync(dirname(logFile), { recursive: true })
  const server = await startPostgres({
    dir: join(directory.dir, 'postgres'),
    sockets: directory.sockets,
    account: directory.account,
    logFile,
  })
  try {
    return await use(server.url)
  } finally {
    await server.stop()
    closeStoreDirectory(directory)
  }
}

/** Converts an error that the operator can fix to a UserError; returns other errors unchanged. */
export function explainDatabase(error: unknown, databaseUrl: string): unknown {
  const message = error instanceof Error ? error.message || String(error) : String(error)
  if (isDatabaseAway(error))
    return new UserError(
      `PostgreSQL at ${describeDatabaseUrl(databaseUrl)} cannot be reached (${message}).`,
      'Check that it runs, and DATABASE_URL.',
    )
  const code = error instanceof Error && 'code' in error ? error.code : ''
  if (code === '42P01' || code === '42703')
    return new UserError('The database is not at this version.', 'Run first: mailstead migrate')
  return error
}

/** A URL without its user and password. */
export function describeDatabaseUrl(url: string): string {
  if (!URL.canParse(url)) return 'DATABASE_URL'
  const { host, pathname, searchParams } = new URL(url)
  return `${searchParams.get('host') ?? host}${pathname}`
}
