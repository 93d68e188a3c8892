/**
 * Mailstead under measurement: its own command line makes the workspace, the
 * domain and the key, its processes run as in production with all mail routed
 * to the sink. Stores stay up between measurements, api, mta and worker are
 * started and stopped by them. Everything is as a user would have it, apart
 * from LOG_LEVEL=warn (the references are quiet too) unless that is given.
 */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Trouble } from '#bin/supervisor/user-error.ts'
import { createEncryption, type Encryption } from '#src/crypto/encryption.ts'
import type { Contender } from './contender.ts'
import type { Crew, Started } from './worker-processes.ts'
import { type Groups, readUsage } from './cpu.ts'
import { SENDER, SENDER_DOMAIN } from './dkim.ts'
import type { PostResult, Probe } from './load.ts'
import { type Remote, startRemote } from './remote.ts'
import { SITE } from './smtp-load.ts'
import { type BenchStores, openBenchStores } from './stores.ts'
import { freePort, waitUntil } from './wait.ts'

export type ProcessName = 'api' | 'submission' | 'mta' | 'worker'
export type Tier = 'instant' | 'high' | 'async' | 'bulk'

export interface Mailstead {
  readonly describe: string
  readonly admin: Admin
  readonly dkimRecords: Readonly<Record<string, string>>
  /** Takes mail from loopback without a login. */
  readonly submissionPort: number
  /** With its master key: links as it makes them. */
  readonly encryption: Encryption
  /** The load generator's process. */
  readonly load: Remote<'load'>
  /** Of all that runs now, stores included. */
  groups(): Groups
  /** `routes` is the transport map: a domain, or `*`, to a port of loopback, or an address and port. */
  start(names: readonly ProcessName[], routes: Readonly<Record<string, number | string>>): Promise<void>
  stop(...names: readonly ProcessName[]): Promise<void>
  /** Numbers for so many messages that no message of this run had before: the first of them. */
  reserve(count: number): number
  /** 50 connections, each sending when it is answered. Throws Trouble when a message is refused. */
  post(tier: Tier, from: number, count: number, site?: string): Promise<PostResult>
  /** One message at a time, every so often, to the usual site or another. Throws Trouble when one is refused. */
  probe(order: ProbeOrder): Promise<Probe[]>
}

/** Where the API is, and an Admin key with all scopes. */
export interface Admin {
  readonly url: string
  readonly key: string
}

export interface ProbeOrder {
  readonly from: number
  readonly count: number
  readonly intervalMs: number
  readonly site?: string
}

interface Access {
  readonly key: string
  readonly adminKey: string
  readonly dkimRecords: Readonly<Record<string, string>>
}

const WORKSPACE = 'bench'
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PROGRAM = join(ROOT, 'bin/mailstead')
/** To the API, each with one request at a time. */
export const CONNECTIONS = 50
/** Each role by itself: the others have nothing to do here and would need ports. */
const ARGS: Readonly<Record<ProcessName, readonly string[]>> = {
  api: ['api'],
  submission: ['mta', '--roles', 'submission'],
  mta: ['mta', '--roles', 'outbound'],
  worker: ['worker'],
}

/** Starts the stores and makes what is needed to send. `profileDir` = where CPU profiles go. */
export async function openMailstead(
  crew: Crew,
  profileDir: string | null,
  say: (line: string) => void,
): Promise<Mailstead> {
  const dataDir = join(crew.dir, 'data')
  const stores = await openBenchStores(crew, dataDir, say)
  const [port, submissionPort, ...others] = (await Promise.all(Array.from({ length: 4 }, freePort))) as [
    number,
    number,
    ...number[],
  ]
  const env = { ...settings(stores, dataDir, port), ...submissionSettings([submissionPort, ...others]) }
  const access = await provision(env)
  const load = await startRemote('load')
  crew.defer(() => load.end())
  const running = new Map<ProcessName, Started>()
  const target = { port, key: access.key }
  let nextNumber = 1
  return {
    describe: `Mailstead with ${stores.describe}`,
    dkimRecords: access.dkimRecords,
    admin: { url: `http://127.0.0.1:${port}`, key: access.adminKey },
    encryption: createEncryption(Buffer.from(env['MASTER_KEY'] ?? '', 'hex')),
    submissionPort,
    load,
    groups: () => ({ ...Object.fromEntries([...running].map(([name, { pid }]) => [name, pid])), ...stores.groups }),
    start: async (names, routes) => {
      for (const name of names) {
        const own = { ROUTES: routeMap(routes), ...profiling(profileDir, name) }
        const started = await crew.start({ name, file: PROGRAM, args: ARGS[name], cwd: ROOT, env: { ...env, ...own } })
        running.set(name, started)
        if (name === 'api') await waitUntil('the API being ready', () => isReady(port), started)
      }
    },
    stop: async (...names) => {
      await Promise.all(names.map(async (name) => running.get(name)?.stop()))
      names.forEach((name) => running.delete(name))
    },
    reserve: (count) => (nextNumber += count) - count,
    post: async (tier, from, count, site = SITE) => {
      const result = await load.post({ target, path: pathOf(tier), sender: SENDER, site, from, count }, CONNECTIONS)
      if (result.accepted < count)
        throw new Trouble(`Mailstead refused ${count - result.accepted} of ${count} messages: ${result.refusal}`)
      return result
    },
    probe: async ({ intervalMs, site = SITE, ...numbers }) => {
      const probes = await load.probe({ target, path: pathOf('instant'), sender: SENDER, site, ...numbers }, intervalMs)
      const refused = probes.filter(({ acceptedAt }) => acceptedAt === 0).length
      if (refused > 0) throw new Trouble(`Mailstead refused ${refused} of ${probes.length} instant messages`)
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

/** Mailstead as one of the servers that are compared end to end. */
export function asContender(mailstead: Mailstead): Contender {
  return {
    name: 'Mailstead',
    describe: mailstead.describe,
    dkimRecords: mailstead.dkimRecords,
    start: async (sinkPort) => {
      await mailstead.start(['api', 'mta', 'worker'], { '*': sinkPort })
      return mailstead.groups()
    },
    expect: (count) => ({ from: mailstead.reserve(count), count, isOwnLetter: true }),
    send: async ({ from, count }) => {
      const before = loadCpuMs(mailstead)
      const { startedAt, endedAt, p50Ms, p99Ms } = await mailstead.post('async', from, count)
      return { startedAt, endedAt, loadCpuMs: loadCpuMs(mailstead) - before, acceptP50Ms: p50Ms, acceptP99Ms: p99Ms }
    },
    stop: () => mailstead.stop('worker', 'mta', 'api'),
  }
}

function loadCpuMs({ load }: Mailstead): number {
  return readUsage({ load: load.pid })['load']?.cpuMs ?? 0
}

export function pathOf(tier: Tier): string {
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
    HTTP_PORT: String(port),
    HTTP_HOST: '127.0.0.1',
    HOSTNAME: 'mta.bench.example',
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

/** Workspace, verified domain and key, made by the commands that an operator has. */
async function provision(env: Readonly<Record<string, string>>): Promise<Access> {
  const command = (...args: string[]): Promise<string> => runCommand(args, env)
  const ask = async <T>(...args: string[]): Promise<T> => JSON.parse(await command(...args, '--json')) as T
  await command('compile') // as `start` does: a process that compiles for itself has other figures
  await command('migrate')
  const workspace = await ask<{ id: string }>('workspace', 'create', '--name', WORKSPACE, '--plan', 'enterprise')
  const domain = await ask<unknown>('domain', 'add', '--workspace', workspace.id, SENDER_DOMAIN)
  await command('domain', 'verify', SENDER_DOMAIN, '--trust')
  const owner = ['--workspace', workspace.id, '--domain', SENDER_DOMAIN]
  const key = await ask<{ secret_key: string }>('key', 'create', '--type', 'regular', ...owner)
  const admin = await ask<{ secret_key: string }>(
    'key',
    'create',
    '--type',
    'admin',
    '--scopes',
    'all',
    '--workspace',
    workspace.id,
  )
  return { key: key.secret_key, adminKey: admin.secret_key, dkimRecords: dkimRecordsIn(domain) }
}

async function runCommand(args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
  try {
    return (await promisify(execFile)(PROGRAM, args, { env, cwd: ROOT })).stdout
  } catch (error) {
    const told = error instanceof Error && 'stderr' in error ? String(error.stderr) : String(error)
    throw new Trouble(`mailstead ${args.join(' ')} failed: ${told.trim()}`)
  }
}

/** The TXT records of DKIM keys, wherever they are in the answer of `domain add`. */
export function dkimRecordsIn(value: unknown): Record<string, string> {
  if (typeof value !== 'object' || value === null) return {}
  const fields = Object.values(value)
  const name = fields.find((field) => typeof field === 'string' && field.includes('._domainkey.'))
  const record = fields.find((field) => typeof field === 'string' && /(^|[;\s"])p=/.test(field))
  const own =
    typeof name === 'string' && typeof record === 'string' ? { [name.replace(/\.$/, '').toLowerCase()]: record } : {}
  return Object.assign(own, ...fields.map(dkimRecordsIn)) as Record<string, string>
}

async function isReady(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/readyz`)).ok
  } catch {
    return false
  }
}
