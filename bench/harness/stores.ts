/**
 * PostgreSQL and Redis for the benchmark: the embedded ones in the scratch folder,
 * or those of DATABASE_URL and REDIS_URL. On a given PostgreSQL the benchmark
 * creates a database and drops it at the end; a given Redis must be empty and is
 * flushed at the end. Both servers report their own pid; the CPU time of a server
 * on another machine is unknown.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import pg from 'pg'
import { closeStoreDirectory, openStoreDirectory } from '#bin/supervisor/data-directory.ts'
import { startPostgres } from '#bin/supervisor/postgres.ts'
import { startRedis } from '#bin/supervisor/redis.ts'
import { UserError } from '#bin/supervisor/user-error.ts'
import type { ProcessManager } from './process-manager.ts'
import { type ProcessGroups, parseStat } from './cpu.ts'

export interface BenchStores {
  readonly databaseUrl: string
  readonly redisUrl: string
  readonly groups: ProcessGroups
  /** Versions, for the report. */
  readonly describe: string
}

type Say = (line: string) => void

export async function openBenchStores(manager: ProcessManager, dataDir: string, say: Say): Promise<BenchStores> {
  const embed = process.env['DATABASE_URL'] && process.env['REDIS_URL'] ? null : openEmbedding(manager, dataDir, say)
  const databaseUrl = await (process.env['DATABASE_URL']
    ? ownDatabase(manager, process.env['DATABASE_URL'])
    : (embed?.postgres() ?? ''))
  const redisUrl = process.env['REDIS_URL'] ?? (await embed?.redis()) ?? ''
  const postgres = await askPostgres(databaseUrl)
  const redis = await askRedis(manager, redisUrl)
  const pids = Object.entries({ postgres: postgres.pid, redis: redis.pid }).filter(([, pid]) => pid > 0)
  return {
    databaseUrl,
    redisUrl,
    groups: Object.fromEntries(pids),
    describe: `PostgreSQL ${postgres.version}, Redis ${redis.version}`,
  }
}

interface Embedding {
  postgres(): Promise<string>
  redis(): Promise<string>
}

function openEmbedding(manager: ProcessManager, dataDir: string, say: Say): Embedding {
  const home = openStoreDirectory(dataDir, say)
  const shared = { sockets: home.sockets, account: home.account }
  manager.defer(async () => closeStoreDirectory(home))
  return {
    postgres: async () => {
      const server = await startPostgres({
        ...shared,
        dir: join(home.dir, 'postgres'),
        logFile: join(manager.dir, 'log/postgres.log'),
      })
      manager.defer(() => server.stop())
      return server.url
    },
    redis: async () => {
      const server = await startRedis({
        ...shared,
        dir: join(home.dir, 'redis'),
        logFile: join(manager.dir, 'log/redis.log'),
        say,
      })
      manager.defer(() => server.stop())
      return server.url
    },
  }
}

async function ownDatabase(manager: ProcessManager, url: string): Promise<string> {
  const name = `mailstead_bench_${process.pid}`
  await query(url, `CREATE DATABASE ${name}`)
  manager.defer(async () => {
    await query(url, `DROP DATABASE ${name} WITH (FORCE)`)
  })
  const own = new URL(url)
  own.pathname = `/${name}`
  return own.href
}

async function query(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows
  } finally {
    await client.end()
  }
}

/** The version, and the postmaster's pid when it runs on this machine. */
async function askPostgres(url: string): Promise<{ version: string; pid: number }> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    const {
      rows: [row],
    } = await client.query<{ version: string; pid: number }>(
      `SELECT current_setting('server_version') AS version, pg_backend_pid() AS pid`,
    )
    const backend = row === undefined ? null : localProcess(row.pid, 'postgres')
    return { version: row?.version ?? '', pid: backend?.parent ?? 0 }
  } finally {
    await client.end()
  }
}

/** The version, and the pid when it runs on this machine. Throws UserError when it is not empty. */
async function askRedis(manager: ProcessManager, url: string): Promise<{ version: string; pid: number }> {
  const path = url.startsWith('unix://') ? url.slice('unix://'.length) : url
  const client = new Redis(path, { maxRetriesPerRequest: 1 })
  client.on('error', () => {})
  try {
    if ((await client.dbsize()) > 0) {
      throw UserError.of(
        'The Redis of REDIS_URL is not empty. Use an empty Redis, or another database number, for the benchmark.',
      )
    }
    if (process.env['REDIS_URL']) manager.defer(() => flush(path))
    const info = await client.info('server')
    const pid = Number(/process_id:(\d+)/.exec(info)?.[1])
    return { version: /redis_version:(\S+)/.exec(info)?.[1] ?? '', pid: localProcess(pid, /redis|valkey/)?.pid ?? 0 }
  } finally {
    client.disconnect()
  }
}

async function flush(path: string): Promise<void> {
  const client = new Redis(path)
  await client.flushdb()
  client.disconnect()
}

/** The process with this pid, when it runs on this machine under this name; otherwise null. */
function localProcess(pid: number, name: string | RegExp): ReturnType<typeof parseStat> {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return text.slice(text.indexOf('('), text.lastIndexOf(')')).search(name) > 0 ? parseStat(text) : null
  } catch {
    return null
  }
}
