/**
 * What statistics cost: the CPU of counting the events of a stream, per message, and the time of reports over a year of
 * 10,000,000 messages of one workspace. Starts PostgreSQL of its own. The share is that of `--message-ms`, the CPU of
 * all processes for one message end to end, which `npm run bench -- e2e` measures on the same machine.
 * Usage: node bench/statistics/main.ts [--messages N] [--workspaces N] [--message-ms N]
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { pino } from 'pino'
import { readUsage } from '#bench/harness/cpu.ts'
import { createProcessManager } from '#bench/harness/process-manager.ts'
import { percentile } from '#bench/harness/stats.ts'
import { openBenchStores } from '#bench/harness/stores.ts'
import { formatTable } from '#bench/table.ts'
import { newId } from '#src/platform/id.ts'
import { countEvents } from '#src/statistics/count-events.ts'
import { COUNTER_NAMES, type DimensionName, INSTALLATION, RESOLUTIONS } from '#src/statistics/dimensions.ts'
import { divide, type IntervalName } from '#src/statistics/intervals.ts'
import { readReport } from '#src/statistics/report.ts'
import { type Db, openDb } from '#src/stores/db.ts'
import { migrate } from '#src/stores/migrate.ts'
import { sql } from '#src/stores/sql.ts'
import { ACCEPT, DELIVER, FILL_ROWS, VALUES } from './fill.ts'

const YEAR_MESSAGES = 10_000_000
const DAY_MS = 24 * 3_600_000
const YEAR_MS = 365 * DAY_MS
const CHUNK = 500
const REPEATS = 9
const TARGET_MS = 100
const TARGET_SHARE = 0.03

interface ReportCase {
  readonly dimension: DimensionName
  readonly interval: IntervalName
  readonly limit: number
  readonly days: number
  readonly value?: string
}

const CASES: readonly ReportCase[] = [
  { dimension: 'all', interval: 'day', limit: 1, days: 365 },
  { dimension: 'all', interval: 'month', limit: 1, days: 365 },
  { dimension: 'tier', interval: 'week', limit: 10, days: 365 },
  { dimension: 'receiver', interval: 'month', limit: 100, days: 365 },
  { dimension: 'receiver', interval: 'day', limit: 50, days: 365 },
  { dimension: 'tag', interval: 'day', limit: 20, days: 365 },
  { dimension: 'tag', interval: 'day', limit: 20, days: 365, value: 'tag-value-7' },
  { dimension: 'campaign', interval: 'week', limit: 20, days: 365 },
  { dimension: 'receiver', interval: 'hour', limit: 20, days: 30 },
  { dimension: 'receiver', interval: 'minute', limit: 10, days: 1 },
]

const { values: given } = parseArgs({
  options: {
    messages: { type: 'string', default: '100000' },
    workspaces: { type: 'string', default: '10' },
    'message-ms': { type: 'string', default: '2.4' },
  },
})
const manager = createProcessManager()
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void manager.end().finally(() => process.exit(130)))
try {
  const { databaseUrl, groups } = await openBenchStores(manager, join(manager.dir, 'data'), () => undefined)
  await migrate(databaseUrl)
  const client = new pg.Client(databaseUrl)
  client.on('error', () => undefined)
  await client.connect()
  const db = openDb(databaseUrl, pino({ level: 'silent' }))
  const cpuMs = (): number => (readUsage(groups)['postgres']?.cpuMs ?? 0) + process.cpuUsage().user / 1000
  for (const measure of [() => measureReports(client, db), () => measureCounting(client, db, cpuMs)])
    process.stdout.write(`${await measure()}\n\n`)
  await client.end()
  await db.close()
} finally {
  await manager.end()
}

async function addWorkspace(client: pg.Client): Promise<string> {
  const id = newId()
  await client.query(`INSERT INTO workspaces (id, key_part, name, plan) VALUES ($1, $2, 'bench', 'enterprise')`, [
    id,
    id.replaceAll('-', ''),
  ])
  return id
}

/** Counts in slices of about a second, as the worker does at some thousand messages a second. */
async function measureCounting(client: pg.Client, db: Db, cpuMs: () => number): Promise<string> {
  const messages = Number(given.messages)
  const workspaces: string[] = []
  for (let n = 0; n < Number(given.workspaces); n++) workspaces.push(await addWorkspace(client))
  let [countingMs, storingMs, events] = [0, 0, 0]
  for (let done = 0; done < messages; done += 4 * CHUNK) {
    let began = cpuMs()
    for (let n = 0; n < 4; n++) {
      const { rows } = await client.query<{ ids: string[]; workspaces: string[] }>(ACCEPT, [CHUNK, workspaces])
      events += CHUNK + ((await client.query(DELIVER, [rows[0]?.ids, rows[0]?.workspaces])).rowCount ?? 0)
    }
    storingMs += cpuMs() - began
    began = cpuMs()
    while (await countEvents({ db }));
    countingMs += cpuMs() - began
  }
  const { rows } = await client.query<{ rows: number; sent: number; bytes: number }>(
    sql`
      SELECT count(*)::int AS rows, sum(sent) FILTER (WHERE dimension = 'all' AND workspace_id = $1)::int AS sent,
        pg_total_relation_size('statistics')::float8 AS bytes
      FROM statistics`,
    [INSTALLATION],
  )
  if (rows[0]?.sent !== messages) throw new Error(`counted ${rows[0]?.sent} of ${messages} messages`)
  const perMessage = countingMs / messages
  const share = perMessage / Number(given['message-ms'])
  return formatTable([
    ['messages', 'events', 'rows', 'MB', 'storing, ms a message', 'counting, ms a message', 'share', ''],
    [
      String(messages),
      String(events),
      String(rows[0].rows),
      (rows[0].bytes / 1e6).toFixed(1),
      (storingMs / messages).toFixed(3),
      perMessage.toFixed(3),
      `${(share * 100).toFixed(1)} %`,
      share <= TARGET_SHARE ? '' : 'missed',
    ],
  ])
}

async function fillYear(client: pg.Client, workspaceId: string, nowMs: number): Promise<void> {
  let to = nowMs
  for (const [name, { code, ms, keptMs }] of Object.entries(RESOLUTIONS)) {
    const from = name === 'day' ? nowMs - YEAR_MS : Math.max(nowMs - YEAR_MS, nowMs - keptMs)
    const start = new Date(Math.ceil(from / ms) * ms)
    for (const [dimension, values] of Object.entries(VALUES))
      await client.query(FILL_ROWS(dimension, values), [
        workspaceId,
        start,
        new Date(to),
        `${ms / 1000} seconds`,
        (YEAR_MESSAGES / YEAR_MS) * ms,
        code,
      ])
    to = start.getTime()
  }
  await client.query('VACUUM ANALYZE statistics')
}

async function measureReports(client: pg.Client, db: Db): Promise<string> {
  const nowMs = Date.now()
  const scope = await addWorkspace(client)
  await fillYear(client, scope, nowMs)
  const table = [['by', 'interval', 'days', 'rows', 'median ms', 'slowest ms', '']]
  for (const { dimension, interval, limit, days, value = null } of CASES) {
    const division = divide(new Date(nowMs - days * DAY_MS), new Date(nowMs), interval, 'Europe/Berlin')
    if (division === null) throw new Error('too many intervals')
    const times: number[] = []
    let rows = 0
    for (let n = 0; n < REPEATS; n++) {
      const began = performance.now()
      const report = await readReport(db, { scope, dimension, value, division, counters: COUNTER_NAMES, limit })
      times.push(performance.now() - began)
      rows = report.rows.length
    }
    const median = percentile(times, 50)
    table.push([
      value === null ? dimension : `${dimension}, one value`,
      interval,
      String(days),
      String(rows),
      median.toFixed(1),
      Math.max(...times).toFixed(1),
      median <= TARGET_MS ? '' : 'missed',
    ])
  }
  const { rows: size } = await client.query<{ rows: number; bytes: number }>(
    `SELECT count(*)::int AS rows, pg_total_relation_size('statistics')::float8 AS bytes FROM statistics`,
  )
  return `${formatTable(table)}\nA year: ${size[0]?.rows} rows, ${((size[0]?.bytes ?? 0) / 1e6).toFixed(0)} MB.`
}
