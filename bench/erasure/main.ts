/**
 * What an erasure and an export of a person cost in a workspace with a million messages: time, slices and rows by step,
 * for a mailbox with one spelling, one of Gmail with many spellings and messages, one of Fastmail, whose address may
 * have any local part, and one that nothing is stored about. Starts PostgreSQL of its own. With --explain MS it prints
 * the plans of statements that took longer. Interrupted, it leaves nothing behind.
 * Usage: node bench/erasure/main.ts [--messages N] [--explain MS]
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { pino } from 'pino'
import { createProcessManager } from '#bench/harness/process-manager.ts'
import { openBenchStores } from '#bench/harness/stores.ts'
import { formatTable } from '#bench/table.ts'
import { superuserUrl } from '#bin/supervisor/postgres-access.ts'
import { newId } from '#src/platform/id.ts'
import { beginErasure, continueErasure } from '#src/privacy/erasure.ts'
import { readPerson } from '#src/privacy/person-export.ts'
import { type Db, openDb } from '#src/stores/db.ts'
import { migrate } from '#src/stores/migrate.ts'
import { sql } from '#src/stores/sql.ts'
import { fillWorkspace } from './fill.ts'

const { values: given } = parseArgs({
  options: { messages: { type: 'string', default: '1000000' }, explain: { type: 'string' } },
})
/** Each is erased once, so the order does not matter. */
const PEOPLE: readonly (readonly [title: string, email: string])[] = [
  ['one spelling', 'r7@d7.example'],
  ['Gmail, many messages', 'zelda.quux@gmail.com'],
  ['Fastmail', 'nobody@fastmail.com'],
  ['unknown', 'nobody@nowhere.example'],
]
const MB = 1e6
const LOG = pino({ level: 'silent' })

const say = (line: string): void => {
  process.stderr.write(`${line}\n`)
}
const manager = createProcessManager()
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void manager.end().finally(() => process.exit(130)))
try {
  const { databaseUrl } = await openBenchStores(manager, join(manager.dir, 'data'), () => undefined)
  await migrate(databaseUrl)
  const workspaceId = newId()
  await fill(databaseUrl, workspaceId)
  if (given.explain !== undefined) await explainFrom(databaseUrl, Number(given.explain))
  const db = openDb(databaseUrl, LOG)
  const table = [['person', 'what', 'rows', 'slices', 's', 'longest, ms']]
  for (const [title, email] of PEOPLE) {
    table.push([title, 'export', ...(await measureExport(db, workspaceId, email))])
    for (const row of await measureErasure(db, workspaceId, email)) table.push([title, ...row])
  }
  process.stdout.write(`${formatTable(table)}\n`)
  await db.close()
  if (given.explain !== undefined) printPlans()
} finally {
  await manager.end()
}

async function fill(url: string, workspaceId: string): Promise<void> {
  const client = new pg.Client(url)
  client.on('error', () => undefined)
  await client.connect()
  await client.query(`INSERT INTO workspaces (id, key_part, name, plan) VALUES ($1, $2, 'bench', 'enterprise')`, [
    workspaceId,
    workspaceId.replaceAll('-', ''),
  ])
  await fillWorkspace(client, workspaceId, Number(given.messages), say)
  await client.end()
}

/** Returns objects, MB and seconds. */
async function measureExport(db: Db, workspaceId: string, email: string): Promise<readonly string[]> {
  const began = performance.now()
  let [objects, bytes] = [0, 0]
  for await (const one of readPerson(db.bulk, { workspaceId, email })) {
    objects++
    bytes += JSON.stringify(one).length
  }
  return [String(objects), `${(bytes / MB).toFixed(1)} MB`, seconds(performance.now() - began), '']
}

interface StepTimes {
  slices: number
  ms: number
  longestMs: number
}

async function measureErasure(db: Db, workspaceId: string, email: string): Promise<string[][]> {
  const { id } = await beginErasure(db, workspaceId, email)
  const steps = new Map<string, StepTimes>()
  const began = performance.now()
  for (;;) {
    const step = await stepOf(db, id)
    if (step === '') break
    const started = performance.now()
    await continueErasure({ db, clock: db.clock, log: LOG })
    const ms = performance.now() - started
    const times = steps.get(step) ?? { slices: 0, ms: 0, longestMs: 0 }
    times.slices++
    times.ms += ms
    times.longestMs = Math.max(times.longestMs, ms)
    steps.set(step, times)
  }
  const total = performance.now() - began
  const { rows } = await db.query<{ rows: number }>(
    'SELECT coalesce(sum(value::int), 0) AS rows FROM erasures, jsonb_each_text(deleted) WHERE id = $1',
    [id],
  )
  return [
    ['erasure', String(rows[0]?.rows), '', seconds(total), ''],
    ...[...steps].map(([step, { slices, ms, longestMs }]) => [
      `- ${step}`,
      '',
      String(slices),
      seconds(ms),
      longestMs.toFixed(0),
    ]),
  ]
}

async function stepOf(db: Db, id: string): Promise<string> {
  const { rows } = await db.query<{ step: string; problem: string | null }>(
    'SELECT step, problem FROM erasures WHERE id = $1',
    [id],
  )
  const [row] = rows
  if (row === undefined || row.problem !== null) throw new Error(`the erasure failed: ${row?.problem ?? 'it is gone'}`)
  return row.step
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(2)
}

/** For sessions that begin now. */
async function explainFrom(url: string, ms: number): Promise<void> {
  const client = new pg.Client(superuserUrl(url))
  await client.connect()
  for (const [setting, value] of Object.entries({
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': String(ms),
    'auto_explain.log_analyze': 'on',
    'auto_explain.log_nested_statements': 'on',
  }))
    await client.query(sql`
      DO $body$
      BEGIN
        EXECUTE format('ALTER DATABASE %I SET ${setting} = ${value}', current_database());
      END
      $body$
    `)
  await client.end()
}

function printPlans(): void {
  const log = readFileSync(join(manager.dir, 'log/postgres.log'), 'utf8')
  process.stdout.write(
    `\n${log
      .split('\n')
      .filter((line) => !line.includes('checkpoint'))
      .join('\n')}\n`,
  )
}
