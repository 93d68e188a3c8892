/**
 * The context: what every part of a program gets as its first parameter, and the one place that builds it. A program names
 * its role; the role says where its log goes, how many connections it has, and when its stores are opened.
 *
 * PostgreSQL or Redis away: `openContext` succeeds, the first use of the store fails, and both reconnect by themselves.
 * A setting that is missing, or a master key that cannot be read, throws here, before anything is connected.
 */
import { pino } from 'pino'
import type { Config } from '#config/load.ts'
import { loadMasterKey, openVault, type Vault } from '#src/crypto/encryption.ts'
import { systemClock, type Clock } from '#src/platform/clock.ts'
import { openLog, type Log } from '#src/platform/log.ts'
import { openDb, type Db } from '#src/stores/db.ts'
import { openRedis, type Redis } from '#src/stores/redis.ts'

export interface Context {
  readonly config: Config
  readonly db: Db
  readonly redis: Redis
  readonly clock: Clock
  readonly log: Log
  readonly vault: Vault
}

export interface OpenedContext {
  readonly ctx: Context
  /** For further connections, such as those that subscribe. */
  readonly redisUrl: string
  /** Ends the connections; statements under way end first. */
  readonly close: () => Promise<void>
}

/** Three processes, and the commands of an operator. */
export type Role = 'api' | 'mta' | 'worker' | 'command'

interface RoleRow {
  readonly openLog: (config: Config, role: Role) => Log
  /** Of each pool. */
  readonly connections?: number
  /** Redis and the master key are opened when they are first used: most commands need neither. */
  readonly isLazy: boolean
}

const PROCESS: RoleRow = { openLog, isLazy: false }
const ROLES: Readonly<Record<Role, RoleRow>> = {
  api: PROCESS,
  mta: PROCESS,
  worker: PROCESS,
  // stdout is for the results, and the command itself reports a store that is away
  command: { openLog: openErrorLog, connections: 2, isLazy: true },
}

/**
 * Opens log, stores and encryption for a role. `findRedis` returns the URL of Redis if it is not REDIS_URL.
 * @throws when a store is not named, or the master key cannot be read.
 */
export function openContext(
  config: Config,
  role: Role,
  findRedis: () => string | null = () => config.redisUrl,
): OpenedContext {
  const { openLog: open, connections, isLazy } = ROLES[role]
  const databaseUrl = requireUrl(role, config.databaseUrl)
  const findRedisUrl = (): string => requireUrl(role, findRedis())
  const log = open(config, role)
  const db = openDb(databaseUrl, log, connections)
  let [vault, redis]: [Vault | null, Redis | null] = [null, null]
  const ctx: Context = {
    config,
    db,
    log,
    clock: systemClock,
    get vault() {
      return (vault ??= openVault(loadMasterKey(config)))
    },
    get redis() {
      return (redis ??= openRedis(findRedisUrl(), log))
    },
  }
  return {
    // a copy has values for getters, so this opens all of them
    ctx: isLazy ? ctx : { ...ctx },
    get redisUrl() {
      return findRedisUrl()
    },
    close: async () => {
      redis?.disconnect()
      await db.close()
    },
  }
}

function requireUrl(role: Role, url: string | null): string {
  if (url !== null) return url
  throw new Error(`the ${role} needs DATABASE_URL and REDIS_URL; \`mailstead start\` brings both stores with it`)
}

function openErrorLog(): Log {
  return pino({ level: 'error', base: null }, pino.destination({ dest: 2, sync: true }))
}
