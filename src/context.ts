/**
 * The context: the dependencies that every part of a program gets as its first parameter, built in one place. A program
 * names its role; the role determines the log, the number of connections and when the stores are opened.
 *
 * PostgreSQL or Redis unavailable: `openContext` succeeds, the first use of the store fails, and both reconnect later.
 * A setting that is missing, or a master key that cannot be read, throws here, before anything is connected.
 */
import { pino } from 'pino'
import type { Config } from '#config/load.ts'
import { createEncryption, loadRoleEncryption, type Encryption } from '#src/crypto/encryption.ts'
import { loadMasterKeys } from '#src/crypto/master-key.ts'
import type { KeyRole } from '#src/crypto/purposes.ts'
import type { Clock } from '#src/platform/clock.ts'
import { openLog, type Log } from '#src/platform/log.ts'
import type { Actor } from '#src/stores/audit.ts'
import { openTracer, type Tracer } from '#src/traces/tracer.ts'
import { agreeOnModeSoon, type ModeAgreement } from './installation-mode.ts'
import { openDb, type Db } from '#src/stores/db.ts'
import { openRedis, type Redis } from '#src/stores/redis.ts'
import { checkStoresAtStart } from '#src/stores/start-check.ts'

export interface Context {
  readonly config: Config
  readonly db: Db
  readonly redis: Redis
  /** The clock of PostgreSQL, which all processes share (src/stores/server-clock.ts). */
  readonly clock: Clock
  readonly log: Log
  readonly encryption: Encryption
  /** Null while traces are off. */
  readonly tracer: Tracer | null
}

export interface OpenedContext {
  readonly ctx: Context
  /** For further connections, such as those that subscribe. */
  readonly redisUrl: string
  /** Closes the connections after the running statements have ended. */
  readonly close: () => Promise<void>
}

/** The three processes, and the commands of the operator. */
export type Role = 'api' | 'mta' | 'worker' | 'command'

/**
 * Nothing may be sent before the mode that this returns is agreed on.
 * @throws UnsuitableStoreError if a store answers and cannot be used, ConfigError if this process would be a sandbox by
 * accident (installation-mode.ts); then nothing stays open.
 */
export async function checkStores({ ctx, close }: OpenedContext): Promise<ModeAgreement> {
  try {
    await checkStoresAtStart(ctx)
    return await agreeOnModeSoon(ctx)
  } catch (error) {
    await close()
    throw error
  }
}

export interface ContextOptions {
  /** The URL of Redis if it is not REDIS_URL. */
  readonly findRedis?: () => string | null
  /** The roles whose keys this process needs; null = all keys. */
  readonly keysFor: readonly KeyRole[] | null
  /** Who makes the changes, for the audit log. */
  readonly actor?: Actor | null
}

/** As `openContext` for a role that records traces. The tracer is stopped by the role, before the stores. */
export async function openTracedContext(
  config: Config,
  role: Exclude<Role, 'command'>,
  options: ContextOptions,
): Promise<OpenedContext> {
  const opened = openContext(config, role, options)
  return { ...opened, ctx: { ...opened.ctx, tracer: await openTracer(opened.ctx, role) } }
}

interface RoleRow {
  readonly openLog: (config: Config, role: Role) => Log
  /** Connections of each PostgreSQL pool. */
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
 * Opens log, stores and encryption for a role, with the keys of `keysFor` only. Changes are attributed to the actor, if
 * there is one.
 * @throws when the URL of a store is missing, or the master key cannot be read.
 */
export function openContext(
  config: Config,
  role: Role,
  { keysFor, findRedis = () => config.redisUrl, actor = null }: ContextOptions,
): OpenedContext {
  const { openLog: open, connections, isLazy } = ROLES[role]
  const databaseUrl = requireUrl(role, config.databaseUrl)
  const findRedisUrl = (): string => requireUrl(role, findRedis())
  const log = open(config, role)
  const db = openDb(databaseUrl, log, connections)
  let [encryption, redis]: [Encryption | null, Redis | null] = [null, null]
  const ctx: Context = {
    config: keysFor === null ? config : withoutSecrets(config, role),
    db: actor === null ? db : db.attributedTo(actor),
    log,
    clock: db.clock,
    tracer: null,
    get encryption() {
      return (encryption ??=
        keysFor === null
          ? createEncryption(...loadMasterKeys(config))
          : loadRoleEncryption(config, withKeys(config, keysFor)))
    },
    get redis() {
      return (redis ??= openRedis(findRedisUrl(), log))
    },
  }
  return {
    // the copy evaluates the getters, so this opens both
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

/** The submission role has keys for certificates only: without them it needs no master key. */
function withKeys({ acmeChallenge }: Config, roles: readonly KeyRole[]): readonly KeyRole[] {
  return acmeChallenge === 'off' ? roles.filter((role) => role !== 'submission') : roles
}

/** What only the encryption, or only one role, needs. */
function withoutSecrets(config: Config, role: Role): Config {
  return {
    ...config,
    masterKey: null,
    masterKeyCommand: null,
    adminToken: role === 'api' ? config.adminToken : null,
    acmeEabKey: role === 'worker' ? config.acmeEabKey : null,
  }
}

function requireUrl(role: Role, url: string | null): string {
  if (url !== null) return url
  throw new Error(`the ${role} needs DATABASE_URL and REDIS_URL; \`mailstead start\` brings both stores with it`)
}

function openErrorLog(): Log {
  return pino({ level: 'error', base: null }, pino.destination({ dest: 2, sync: true }))
}
