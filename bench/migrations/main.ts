/**
 * Measures how long each migration blocks readers and writers at ten million rows: fills the tables, applies one
 * migration after the other while a prober reads and updates rows of every table, and prints the longest waits.
 * `--save` writes them to `migrations/measured.json`, which `mailstead upgrade --plan` shows. It starts a PostgreSQL of
 * its own in /var/tmp, which needs 2.5 GB for each million rows, and ends after `--minutes`. Exit code 1: a migration
 * blocks for a second or longer. For a few new migrations: `--from` measures and saves only those from that one on, and
 * `--tables` fills only the tables that they touch.
 * Usage: node bench/migrations/main.ts [--rows N] [--from NAME.ts] [--tables a,b] [--minutes N] [--save]
 */
import { readFileSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { createProcessManager } from '#bench/harness/process-manager.ts'
import { formatTable } from '#bench/table.ts'
import { closeStoreDirectory, openStoreDirectory } from '#bin/supervisor/data-directory.ts'
import { startPostgres } from '#bin/supervisor/postgres.ts'
import { superuserUrl } from '#bin/supervisor/postgres-access.ts'
import { migrate } from '#src/stores/migrate.ts'
import { listMigrations, MIGRATIONS } from '#src/stores/migrations.ts'
import { fillAfter } from './fill.ts'
import { LOG_WAITS, createProber, type Blocked, type Prober } from './prober.ts'

const MAX_WAIT_MS = 1000
const BYTES_A_ROW = 2500
const MAX_ROWS = 20_000_000

const { values: given } = parseArgs({
  options: {
    rows: { type: 'string', default: '10000000' },
    from: { type: 'string', default: '' },
    tables: { type: 'string' },
    minutes: { type: 'string', default: '180' },
    save: { type: 'boolean', default: false },
  },
})
const tables = given.tables?.split(',')
const rows = Math.min(MAX_ROWS, Number(given.rows))
const say = (line: string): void => {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`)
}

interface Measured {
  readonly migration: string
  readonly seconds: number
  /** The table that waited for longest, if the migration met filled tables. */
  readonly worst: Blocked | null
}

/** For the measurement only: the data is discarded. Autovacuum would hold locks of its own. */
const SETTINGS = [
  ...LOG_WAITS,
  'autovacuum = off',
  "max_wal_size = '16GB'",
  "checkpoint_timeout = '1h'",
  "maintenance_work_mem = '256MB'",
  "log_line_prefix = '%p '",
  'synchronous_commit = off',
]

const manager = createProcessManager()
const end = (): Promise<void> => manager.end()
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void end().finally(() => process.exit(130)))
const limit = setTimeout(
  () => {
    say(`not finished within ${given.minutes} minutes`)
    void end().finally(() => process.exit(1))
  },
  Number(given.minutes) * 60_000,
)

try {
  const { bavail, bsize } = statfsSync(manager.dir)
  if (bavail * bsize < rows * BYTES_A_ROW) throw new Error(`${manager.dir} has too little free space for ${rows} rows`)
  const measured = await measureAll()
  const head = ['migration', 'took, s', 'longest wait for a lock, ms', 'of', 'longest statement, ms']
  const lines = measured.map(({ migration, seconds, worst }) => [
    migration,
    seconds.toFixed(1),
    worst === null ? '' : worst.waitMs.toFixed(0),
    worst === null || worst.waitMs === 0 ? '' : worst.table,
    worst === null ? '' : worst.statementMs.toFixed(0),
  ])
  process.stdout.write(`${rows} rows\n${formatTable([head, ...lines])}\n`)
  if (given.save) save(measured)
  process.exitCode = measured.some(({ worst }) => (worst?.waitMs ?? 0) >= MAX_WAIT_MS) ? 1 : 0
} finally {
  clearTimeout(limit)
  await end()
}

async function measureAll(): Promise<Measured[]> {
  const { url, logFile } = await startServer()
  const client = new pg.Client(superuserUrl(url))
  await client.connect()
  for (const setting of SETTINGS) await client.query(`ALTER SYSTEM SET ${setting}`)
  await client.query('SELECT pg_reload_conf()')
  const prober = createProber(url, logFile)
  const measured: Measured[] = []
  for (const name of listMigrations()) {
    const one = await measureOne(name, url, prober)
    if (name >= given.from) measured.push(one)
    const added = await fillAfter(name, { rows, tables }, Date.now(), (statement) => client.query(statement))
    if (added.length > 0) {
      say(`filled ${added.join(', ')}`)
      await client.query(`ANALYZE ${added.join(', ')}`)
    }
    await prober.add(added)
  }
  await prober.stop()
  await client.end()
  return measured
}

async function measureOne(name: string, url: string, prober: Prober): Promise<Measured> {
  prober.report()
  const startedAt = performance.now()
  await migrate(url, { through: name, say, onStep: ({ migration, step }) => say(`${migration}: ${step}`) })
  const seconds = (performance.now() - startedAt) / 1000
  const [worst = null] = prober.report().toSorted((a, b) => b.waitMs - a.waitMs || b.statementMs - a.statementMs)
  say(`${name}: ${seconds.toFixed(1)} s, ${worst?.table ?? 'nothing'} waited ${(worst?.waitMs ?? 0).toFixed(0)} ms`)
  return { migration: name, seconds, worst }
}

async function startServer(): Promise<{ readonly url: string; readonly logFile: string }> {
  const home = openStoreDirectory(join(manager.dir, 'data'), say)
  manager.defer(async () => closeStoreDirectory(home))
  const logFile = join(manager.dir, 'log/postgres.log')
  const server = await startPostgres({
    dir: join(home.dir, 'postgres'),
    sockets: home.sockets,
    account: home.account,
    logFile,
    durable: false,
    removeOnExit: home.dir,
  })
  manager.defer(() => server.stop())
  return { url: server.url, logFile }
}

function save(measured: readonly Measured[]): void {
  const file = join(MIGRATIONS, 'measured.json')
  const known = JSON.parse(readFileSync(file, 'utf8')) as { rows: number; migrations: object }
  if (given.from !== '' && known.rows !== rows) throw new Error(`${file} was measured with ${known.rows} rows`)
  const found = Object.fromEntries(
    measured.map(({ migration, seconds, worst }) => [
      migration,
      {
        seconds: Number(seconds.toFixed(1)),
        blocksMs: Math.round(worst?.waitMs ?? 0),
        table: worst === null || worst.waitMs === 0 ? null : worst.table,
      },
    ]),
  )
  const migrations = given.from === '' ? found : { ...known.migrations, ...found }
  const sorted = Object.fromEntries(Object.entries(migrations).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  writeFileSync(file, `${JSON.stringify({ rows, migrations: sorted }, null, 2)}\n`)
}
