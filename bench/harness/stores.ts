/**
 * PostgreSQL and Redis for the benchmark: our own embedded ones in the scratch
 * folder, or those of DATABASE_URL and REDIS_URL. Of a given PostgreSQL only a
 * database of the benchmark's own is used, and dropped at the end; a given
 * Redis must be empty, and is emptied at the end. Their pids are asked from
 * the servers themselves; on another machine their CPU stays unknown.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import pg from 'pg'
import { closeHome, openHome } from '#bin/supervisor/data-directory.ts'
import { startPostgres } from '#bin/supervisor/postgres.ts'
import { startRedis } from '#bin/supervisor/redis.ts'
import { Trouble } from '#bin/supervisor/user-error.ts'
import type { Crew } from './worker-processes.ts'
import { type Groups, parseStat } from './cpu.ts'

export interface BenchStores {
  readonly databaseUrl: string
  readonly redisUrl: string
  readonly groups: Groups
  /** Versions, for the report. */
  readonly describe: string
}

type Say = (line: string) => void

export async function openBenchStores(crew: Crew, dataDir: string, say: Say): Promise<BenchStores> {
  const embed = process.env['DATABASE_URL'] && process.env['REDIS_URL'] ? null : openEmbedding(crew, dataDir, say)
  const databaseUrl = await (process.env['DATABASE_URL']
    ? ownDatabase(crew, process.env['DATABASE_URL'])
    : (embed?.postgres() ?? ''))
  const redisUrl = process.env['REDIS_URL'] ?? (await embed?.redis()) ?? ''
  const postgres = await askPostgres(databaseUrl)
  const redis = await askRedis(crew, redisUrl)
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

function openEmbedding(crew: Crew, dataDir: string, say: Say): Embedding {
  const home = openHome(dataDir, say)
  const place = { sockets: home.sockets, account: home.account }
  crew.defer(async () => closeHome(home))
  return {
    postgres: async () => {
      const server = await startPostgres({
        ...place,
        dir: join(home.dir, 'postgres'),
        logFile: join(crew.dir, 'log/postgres.log'),
      })
      crew.defer(() => server.stop())
      return server.url
    },
    redis: async () => {
      const server = await startRedis({
        ...place,
        dir: join(home.dir, 'redis'),
        logFile: join(crew.dir, 'log/redis.log'),
        say,
      })
      crew.defer(() => server.stop())
      return server.url
    },
  }
}

async function ownDatabase(crew: Crew, url: string): Promise<string> {
  const name = `mailstead_bench_${process.pid}`
  await query(url, `CREATE DATABASE ${name}`)
  crew.defer(async () => {
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

/** The version, and the pid when it runs on this machine. Throws Trouble when there is something in it. */
async function askRedis(crew: Crew, url: string): Promise<{ version: string; pid: number }> {
  const path = url.startsWith('unix://') ? url.slice('unix://'.length) : url
  const client = new Redis(path, { maxRetriesPerRequest: 1 })
  client.on('error', () => {})
  try {
    if ((await client.dbsize()) > 0) {
      throw new Trouble(
        'The Redis of REDIS_URL is not empty. Give the benchmark one of its own, or another database number.',
      )
    }
    if (process.env['REDIS_URL']) crew.defer(() => flush(path))
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

/** The process of that pid, when it is here and is what it should be. */
function localProcess(pid: number, name: string | RegExp): ReturnType<typeof parseStat> {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return text.slice(text.indexOf('('), text.lastIndexOf(')')).search(name) > 0 ? parseStat(text) : null
  } catch {
    return null
  }
}
