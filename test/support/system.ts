/**
 * A complete Mailstead for scenarios and fault tests: api, mta and worker as processes, with an operator's settings,
 * their own Redis, and a cloned database, or their own PostgreSQL where the test crashes it. Clients use HTTP; `db`
 * and `redis` are for checks and for changes that time or an operator would make. The test sets where mail goes
 * (ROUTES, or DNS_SERVERS with SMTP_OUT_PORT). `stop` ends and removes everything; so does the end of the test
 * process.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { lastLines } from '#bin/supervisor/log-file.ts'
import { loadConfig, type Config } from '#config/load.ts'
import { openDb, type Db } from '#src/stores/db.ts'
import { openLog } from '#src/platform/log.ts'
import { openRedis, type Redis } from '#src/stores/redis.ts'
import { createEncryption, type Encryption } from '#src/crypto/encryption.ts'
import { OPERATOR_TOKEN, request, type TestResponse, type TestCall } from './api.ts'
import { RoleProcess } from './child.ts'
import { createSender, type Sender } from './sender.ts'
import { freePort } from './free-ports.ts'
import { startSilentProxy, type SilentProxy } from './silent-proxy.ts'
import type { TestPooler } from './pooler.ts'
import { createDatabase, startPostgres, startRedis, type TestServer } from './stores.ts'

const ROLES = {
  api: ['api'],
  mta: ['mta'],
  mta2: ['mta'],
  worker: ['worker'],
  submission: ['mta', '--roles', 'submission'],
  inbound: ['mta', '--roles', 'inbound,sandbox'],
} as const satisfies Record<string, readonly string[]>
export type RoleName = keyof typeof ROLES

export interface SystemOptions {
  /** Settings as an operator writes them. */
  readonly env: Readonly<Record<string, string>>
  /** A PostgreSQL of its own, with fsync, as `postgres`; else a cloned database. */
  readonly isCrashable?: boolean
  /** The processes reach their stores through `proxies`, which can go silent. */
  readonly isSilenceable?: boolean
  /** The processes reach PostgreSQL through this pooler. */
  readonly openPooler?: (databaseUrl: string) => Promise<TestPooler>
}

export interface System extends Sender {
  readonly url: string
  readonly config: Config
  readonly encryption: Encryption
  readonly db: Db
  readonly redis: Redis
  readonly redisServer: TestServer
  /** Only of a crashable system. */
  readonly postgres: TestServer
  /** Only of a silenceable system. `db` and `redis` of the test do not use them. */
  readonly proxies: StoreProxies
  /** `mta2`, `submission` and `inbound` are there to be started by a test that wants them. */
  readonly roles: Readonly<Record<RoleName, RoleProcess>>
  /** Sends a request to a path below /api/v1, by default with the regular key. Rejects when there is no response. */
  call(method: string, path: string, call?: TestCall): Promise<TestResponse>
  /** Starts those of api, mta and worker that do not run. */
  startMissing(): Promise<void>
  /** The last lines of all logs; printed when a test fails. */
  readLogs(): string
  stop(): Promise<void>
}

export interface StoreProxies {
  readonly postgres: SilentProxy
  readonly redis: SilentProxy
}

/** Short times, so that tests are fast; the lease is long enough not to expire on a busy machine. */
const ENV = {
  HTTP_HOST: '127.0.0.1',
  MAILSTEAD_HOSTNAME: 'mta.sender.example',
  MASTER_KEY: '5a'.repeat(32),
  ADMIN_TOKEN: OPERATOR_TOKEN,
  ALLOW_PRIVATE_TARGETS: '127.0.0.0/8,::1',
  RETRY_SCALE: '0.01',
  LEASE_SECONDS: '15',
  RECONCILE_SECONDS: '1',
  LOG_LEVEL: 'info',
} as const

export async function startSystem(options: SystemOptions): Promise<System> {
  const cleanup: Cleanup = []
  const stop = async (): Promise<void> => {
    for (const step of cleanup.splice(0).toReversed()) await step()
  }
  try {
    return await build(options, cleanup, stop)
  } catch (error) {
    await stop()
    throw error
  }
}

async function build(options: SystemOptions, cleanup: Cleanup, stop: () => Promise<void>): Promise<System> {
  const dir = mkdtempSync('/tmp/mailstead-test-')
  cleanup.push(() => rmSync(dir, { recursive: true, force: true }))
  const { databaseUrl, postgres } = await openDatabase(options.isCrashable ?? false, cleanup)
  const redisServer = await startRedis()
  cleanup.push(() => redisServer.stop())
  const proxies = options.isSilenceable === true ? await openProxies(databaseUrl, redisServer.url, cleanup) : null
  const pooler = await options.openPooler?.(databaseUrl)
  cleanup.push(() => pooler?.stop())
  const [port, ...ports] = await Promise.all(Array.from({ length: 1 + PORTS.length }, freePort))
  const env = {
    ...ENV,
    DATABASE_URL: proxies?.postgres.url ?? pooler?.url ?? databaseUrl,
    REDIS_URL: proxies?.redis.url ?? redisServer.url,
    DATA_DIR: dir,
    HTTP_PORT: String(port),
    ...portsOf(ports),
    ...options.env,
  }
  const config = loadConfig(env)
  const log = openLog({ logLevel: 'silent' }, 'test')
  const db = openDb(databaseUrl, log, 4)
  cleanup.push(() => db.close())
  const redis = openRedis(redisServer.url, log)
  cleanup.push(() => redis.disconnect())
  const encryption = createEncryption(Buffer.from(ENV.MASTER_KEY, 'hex'))
  const sender = await createSender({ db, encryption, keyPrefix: config.keyPrefix }, { domain: 'sender.example' })
  const roles = makeRoles(dir, env)
  for (const role of Object.values(roles)) cleanup.push(() => role.stop())
  const startMissing = async (): Promise<void> => {
    await Promise.all(
      [roles.api, roles.mta, roles.worker].map((role) => (role.isRunning ? Promise.resolve() : role.start())),
    )
  }
  await startMissing()
  const url = `http://127.0.0.1:${port}`
  return {
    ...sender,
    url,
    config,
    encryption,
    db,
    redis,
    redisServer,
    roles,
    startMissing,
    stop,
    get postgres() {
      if (postgres === null) throw new Error('this system has no PostgreSQL of its own')
      return postgres
    },
    get proxies() {
      if (proxies === null) throw new Error('this system has no proxies before its stores')
      return proxies
    },
    call: (method, path, call = {}) => request(method, `${url}/api/v1${path}`, { key: sender.regular, ...call }),
    readLogs: () =>
      Object.entries(roles)
        .map(([name, { logFile }]) => `--- ${name}\n${lastLogLines(logFile)}\n`)
        .join(''),
  }
}

/** For a `describe`: prints the last log lines of all processes after a failed test. */
export function printLogsOnFailure(systemOf: () => System): void {
  afterEach(function () {
    if (this.currentTest?.state === 'failed') process.stderr.write(systemOf().readLogs())
  })
}

/** The last lines, shortened, without stack traces. */
function lastLogLines(logFile: string): string {
  return lastLines(logFile, 15).replaceAll(/^(.{240}).*$/gm, '$1…')
}

type Cleanup = (() => Promise<unknown> | void)[]

async function openDatabase(
  isCrashable: boolean,
  cleanup: Cleanup,
): Promise<{ databaseUrl: string; postgres: TestServer | null }> {
  if (isCrashable) {
    const postgres = await startPostgres()
    cleanup.push(() => postgres.stop())
    return { databaseUrl: postgres.url, postgres }
  }
  const database = await createDatabase()
  cleanup.push(() => database.drop())
  return { databaseUrl: database.url, postgres: null }
}

async function openProxies(databaseUrl: string, redisUrl: string, cleanup: Cleanup): Promise<StoreProxies> {
  const [postgres, redis] = await Promise.all([startSilentProxy(databaseUrl), startSilentProxy(redisUrl)])
  cleanup.push(() => Promise.all([postgres.stop(), redis.stop()]))
  return { postgres, redis }
}

function makeRoles(dir: string, env: Readonly<Record<string, string>>): Record<RoleName, RoleProcess> {
  const of = (name: RoleName): RoleProcess =>
    new RoleProcess({ args: ROLES[name], env, home: dir, logName: `${name}.log` })
  return {
    api: of('api'),
    mta: of('mta'),
    mta2: of('mta2'),
    worker: of('worker'),
    submission: of('submission'),
    inbound: of('inbound'),
  }
}

const PORTS = [
  'SUBMISSION_PORT',
  'SUBMISSION_TLS_PORT',
  'SUBMISSION_ALT_PORT',
  'INBOUND_PORT',
  'SANDBOX_DNS_PORT',
  'SANDBOX_SMTP_PORT',
]

function portsOf(ports: readonly number[]): Record<string, string> {
  return Object.fromEntries(PORTS.map((name, i) => [name, String(ports[i])]))
}
