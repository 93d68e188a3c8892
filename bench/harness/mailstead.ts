/**
 * Mailstead under measurement. Its own commands create the workspace, the domain
 * and the keys; its processes run as in production, with all mail routed to the
 * sink. PostgreSQL and Redis run until the end; each measurement starts and stops
 * api, mta and worker. All settings are the defaults except LOG_LEVEL=warn (the
 * references log warnings only, too), unless the environment sets them.
 */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { UserError } from '#bin/supervisor/user-error.ts'
import type { MailMix } from '#bench/mails/mail-mix.ts'
import { createEncryption, type Encryption } from '#src/crypto/encryption.ts'
import type { Contender } from './contender.ts'
import type { ProcessManager, StartedProcess } from './process-manager.ts'
import { type ProcessGroups, readUsage } from './cpu.ts'
import { SENDER, SENDER_DOMAIN } from './dkim.ts'
import type { PostResult, Probe } from './load.ts'
import { type LockWaits, watchLockWaits } from './lock-waits.ts'
import { type Remote, startRemote } from './remote.ts'
import { PROGRAM, type ProcessName, ROOT, startProcesses, stopProcesses } from './role-processes.ts'
import { SITE } from './smtp-load.ts'
import { type BenchStores, openBenchStores } from './stores.ts'
import { freePort } from './wait.ts'
import { createWorkspaces } from './workspaces.ts'

export type Tier = 'instant' | 'high' | 'async' | 'bulk'

export interface Mailstead {
  readonly describe: string
  readonly workspaceId: string
  readonly admin: AdminAccess
  /** The regular key of the workspace. */
  readonly key: string
  readonly dkimRecords: Readonly<Record<string, string>>
  /** Accepts mail from loopback without authentication. */
  readonly submissionPort: number
  /** Uses Mailstead's master key, to create the same tracked links. */
  readonly encryption: Encryption
  /** Creates further workspaces. Returns an admin key of each. */
  createWorkspaces(count: number): Promise<string[]>
  /** The load generator's process. */
  readonly load: Remote<'load'>
  /** All running processes, PostgreSQL and Redis included. */
  groups(): ProcessGroups
  /** `routes` is the transport map: from a domain, or `*`, to a port on loopback, or to an address and port. */
  start(
    names: readonly ProcessName[],
    routes: Readonly<Record<string, number | string>>,
    options?: StartOptions,
  ): Promise<void>
  stop(...names: readonly ProcessName[]): Promise<void>
  /** Starts to watch PostgreSQL. The returned function ends it. */
  watchLockWaits(): Promise<() => Promise<LockWaits>>
  /** Reserves `count` message numbers that are new in this run. Returns the first. */
  reserve(count: number): number
  /** Sends over 50 connections, one request at a time each. Throws UserError when a message is refused. */
  post(tier: Tier, numbers: PostOptions): Promise<PostResult>
  /** Sends one message per interval, to the usual site or another. Throws UserError when one is refused. */
  probe(options: ProbeOptions): Promise<Probe[]>
}

export interface StartOptions {
  /** Default: as many as OUTBOUND_PROCESSES says, or one. */
  readonly outboundProcesses?: number
  /** Settings that differ from the defaults. */
  readonly settings?: Readonly<Record<string, string>>
}

/** The URL of the API, and an admin key with all scopes. */
export interface AdminAccess {
  readonly url: string
  readonly key: string
}

export interface PostOptions {
  readonly from: number
  readonly count: number
  readonly site?: string
  /** Default: plain text. */
  readonly mix?: MailMix
}

export interface ProbeOptions {
  readonly from: number
  readonly count: number
  readonly intervalMs: number
  readonly site?: string
}

interface ProvisionedAccess {
  readonly key: string
  readonly adminKey: string
  readonly workspaceId: string
  readonly dkimRecords: Readonly<Record<string, string>>
}

const WORKSPACE = 'bench'
/** Connections to the API, each with one request at a time. */
export const CONNECTIONS = 50

/** Starts PostgreSQL and Redis, and creates workspace, domain and keys. CPU profiles go to `profileDir`. */
export async function openMailstead(
  manager: ProcessManager,
  profileDir: string | null,
  say: (line: string) => void,
): Promise<Mailstead> {
  const dataDir = join(manager.dir, 'data')
  const stores = await openBenchStores(manager, dataDir, say)
  const [port, submissionPort, ...others] = (await Promise.all(Array.from({ length: 4 }, freePort))) as [
    number,
    number,
    ...number[],
  ]
  const env = { ...settings(stores, dataDir, port), ...submissionSettings([submissionPort, ...others]) }
  const access = await provision(env)
  const load = await startRemote('load')
  manager.defer(() => load.end())
  const running = new Map<string, StartedProcess>()
  const target = { port, key: access.key }
  let nextNumber = 1
  return {
    describe: `Mailstead with ${stores.describe}`,
    dkimRecords: access.dkimRecords,
    workspaceId: access.workspaceId,
    admin: { url: `http://127.0.0.1:${port}`, key: access.adminKey },
    key: access.key,
    createWorkspaces: (count) => createWorkspaces(stores.databaseUrl, count),
    encryption: createEncryption(Buffer.from(env['MASTER_KEY'] ?? '', 'hex')),
    submissionPort,
    load,
    groups: () => ({ ...Object.fromEntries([...running].map(([name, { pid }]) => [name, pid])), ...stores.groups }),
    start: (names, routes, { outboundProcesses = null, settings: changed = {} } = {}) =>
      startProcesses(names, {
        manager,
        running,
        port,
        isProfiled: profileDir !== null,
        outboundProcesses,
        envOf: (name) => ({ ...env, ...changed, ROUTES: routeMap(routes), ...profiling(profileDir, name) }),
      }),
    stop: (...names) => stopProcesses(names, running),
    watchLockWaits: () => watchLockWaits(stores.databaseUrl),
    reserve: (count) => (nextNumber += count) - count,
    post: async (tier, { count, site = SITE, ...numbers }) => {
      const batch = { target, path: sendPath(tier), sender: SENDER, site, count, ...numbers }
      const result = await load.post(batch, CONNECTIONS)
      if (result.accepted < count)
        throw UserError.of(`Mailstead refused ${count - result.accepted} of ${count} messages: ${result.firstError}`)
      return result
    },
    probe: async ({ intervalMs, site = SITE, ...numbers }) => {
      const batch = { target, path: sendPath('instant'), sender: SENDER, site, ...numbers }
      const probes = await load.probe(batch, intervalMs)
      const refused = probes.filter(({ acceptedAt }) => acceptedAt === 0).length
      if (refused > 0) throw UserError.of(`Mailstead refused ${refused} of ${probes.length} instant messages`)
      return probes
    },
  }
}

/** The setting ROUTES. */
function routeMap(routes: Parameters<Mailstead['start']>[1]): string {
  return Object.entries(routes)
    .map(([domain, sink]) => `${domain}=smtp://${typeof sink === 'number' ? `127.0.0.1:${sink}` : sink}`)
    .join(',')
}

function profiling(profileDir: string | null, name: ProcessName): Record<string, string> {
  return profileDir === null ? {} : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${join(profileDir, name)}` }
}

/** Mailstead as one of the compared servers. */
export function asContender(mailstead: Mailstead): Contender {
  return {
    name: 'Mailstead',
    describe: mailstead.describe,
    dkimRecords: mailstead.dkimRecords,
    start: async (sinkPort) => {
      await mailstead.start(['api', 'mta', 'worker'], { '*': sinkPort })
      return mailstead.groups()
    },
    expect: (count) => ({ from: mailstead.reserve(count), count, hasNumberedBody: true }),
    send: async ({ from, count }, mix) => {
      const before = loadCpuMs(mailstead)
      const { startedAt, endedAt, p50Ms, p99Ms } = await mailstead.post('async', { from, count, mix })
      return { startedAt, endedAt, loadCpuMs: loadCpuMs(mailstead) - before, acceptP50Ms: p50Ms, acceptP99Ms: p99Ms }
    },
    stop: () => mailstead.stop('worker', 'mta', 'api'),
  }
}

function loadCpuMs({ load }: Mailstead): number {
  return readUsage({ load: load.pid })['load']?.cpuMs ?? 0
}

export function sendPath(tier: Tier): string {
  return `/api/v1/send-email/${tier}`
}

function settings(stores: BenchStores, dataDir: string, port: number): Readonly<Record<string, string>> {
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
  return {
    LOG_LEVEL: 'warn',
    ...inherited,
    DATABASE_URL: stores.databaseUrl,
    REDIS_URL: stores.redisUrl,
    DATA_DIR: dataDir,
    KEEP_ROOT: 'true', // the stores of a benchmark are open to their own user only
    HTTP_PORT: String(port),
    HTTP_HOST: '127.0.0.1',
    MAILSTEAD_HOSTNAME: 'mta.bench.example',
    MASTER_KEY: randomBytes(32).toString('hex'),
    ALLOW_PRIVATE_TARGETS: '127.0.0.0/8',
  }
}

function submissionSettings(ports: readonly number[]): Record<string, string> {
  const names = ['SUBMISSION_PORT', 'SUBMISSION_TLS_PORT', 'SUBMISSION_ALT_PORT']
  return {
    ...Object.fromEntries(names.map((name, i) => [name, String(ports[i])])),
    RELAY_NETWORKS: `127.0.0.0/8=${WORKSPACE}`,
  }
}

/** Creates the workspace, a verified domain and keys with the operator's commands. */
async function provision(env: Readonly<Record<string, string>>): Promise<ProvisionedAccess> {
  const command = (...args: string[]): Promise<string> => runCommand(args, env)
  const runJson = async <T>(...args: string[]): Promise<T> => JSON.parse(await command(...args, '--json')) as T
  await command('compile') // as `start` does: a process that has to compile the code first gives other results
  await command('migrate')
  const workspace = await runJson<{ id: string }>('workspace', 'create', '--name', WORKSPACE, '--plan', 'enterprise')
  const domain = await runJson<unknown>('domain', 'add', '--workspace', workspace.id, SENDER_DOMAIN)
  await command('domain', 'verify', SENDER_DOMAIN, '--trust')
  const owner = ['--workspace', workspace.id, '--domain', SENDER_DOMAIN]
  const key = await runJson<{ secret_key: string }>('key', 'create', '--type', 'regular', ...owner)
  const admin = await runJson<{ secret_key: string }>(
    'key',
    'create',
    '--type',
    'admin',
    '--scopes',
    'all',
    '--workspace',
    workspace.id,
  )
  return {
    workspaceId: workspace.id,
    key: key.secret_key,
    adminKey: admin.secret_key,
    dkimRecords: dkimRecordsIn(domain),
  }
}

async function runCommand(args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
  try {
    return (await promisify(execFile)(PROGRAM, args, { env, cwd: ROOT })).stdout
  } catch (error) {
    const output = error instanceof Error && 'stderr' in error ? String(error.stderr) : String(error)
    throw UserError.of(`mailstead ${args.join(' ')} failed: ${output.trim()}`)
  }
}

/** The TXT records of DKIM keys, wherever they are in the output of `domain add`. */
export function dkimRecordsIn(value: unknown): Record<string, string> {
  if (typeof value !== 'object' || value === null) return {}
  const fields = Object.values(value)
  const name = fields.find((field) => typeof field === 'string' && field.includes('._domainkey.'))
  const record = fields.find((field) => typeof field === 'string' && /(^|[;\s"])p=/.test(field))
  const own =
    typeof name === 'string' && typeof record === 'string' ? { [name.replace(/\.$/, '').toLowerCase()]: record } : {}
  return Object.assign(own, ...fields.map(dkimRecordsIn)) as Record<string, string>
}
