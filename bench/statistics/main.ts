/**
 * What statistics cost: the CPU of counting the events of a stream, per message, by statement; and reports over a year
 * of ten million recipients. Starts PostgreSQL of its own. The share is that of `--message-ms`, the CPU of all
 * processes for one message end to end, which `npm run bench -- e2e` measures on the same machine.
 * Usage: node bench/statistics/main.ts [--messages N] [--rate N] [--workspaces N] [--message-ms N]
 *   [--all | --no-reports]
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { pino } from 'pino'
import { createProcessManager } from '#bench/harness/process-manager.ts'
import { openBenchStores } from '#bench/harness/stores.ts'
import { formatTable } from '#bench/table.ts'
import { newId } from '#src/platform/id.ts'
import { countEvents, intervalsAt } from '#src/statistics/count-events.ts'
import { INSTALLATION } from '#src/statistics/dimensions.ts'
import { openDb, type Queryable } from '#src/stores/db.ts'
import { migrate } from '#src/stores/migrate.ts'
import { sql } from '#src/stores/sql.ts'
import { cpuMsOf, ownCpuMs } from '#bench/harness/process-cpu.ts'
import { ACCEPT, DELIVER } from './mail-stream.ts'
import { fillYear, measureReports } from './reports.ts'

const CHUNK = 500
const TARGET_SHARE = 0.03
/** The interval of the worker (worker/loops.ts). */
const ROUND_SECONDS = 5
/** Of the stream of `mail-stream.ts`. */
const EVENTS_EACH = 3.35
/** The first slices open connections, compile code and make plans. */
const WARM_UP = 6

const { values: given } = parseArgs({
  options: {
    messages: { type: 'string', default: '60000' },
    rate: { type: 'string', default: '300' },
    workspaces: { type: 'string', default: '8' },
    'message-ms': { type: 'string', default: '2.4' },
    all: { type: 'boolean', default: false },
    'no-reports': { type: 'boolean', default: false },
  },
})
const manager = createProcessManager()
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void manager.end().finally(() => process.exit(130)))
try {
  const { databaseUrl, groups } = await openBenchStores(manager, join(manager.dir, 'data'), () => undefined)
  await migrate(databaseUrl)
  const client = await connect(databaseUrl)
  const workspaces: string[] = []
  for (let n = 0; n < Number(given.workspaces); n++) workspaces.push(await addWorkspace(client))
  process.stdout.write(`${await measureCounting(client, await connect(databaseUrl), workspaces)}\n\n`)
  if (!given['no-reports']) {
    await fillYear(client, workspaces, Date.now())
    const db = openDb(databaseUrl, pino({ level: 'silent' }))
    const targets = { db, postmaster: groups['postgres'] ?? 0, workspaceId: workspaces[0] ?? '' }
    process.stdout.write(`${await measureReports(targets, given.all)}\n`)
    await db.close()
  }
} finally {
  await manager.end()
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client(url)
  client.on('error', () => undefined)
  await client.connect()
  manager.defer(() => client.end())
  return client
}

async function addWorkspace(client: pg.Client): Promise<string> {
  const id = newId()
  await client.query(`INSERT INTO workspaces (id, key_part, name, plan) VALUES ($1, $2, 'bench', 'enterprise')`, [
    id,
    id.replaceAll('-', ''),
  ])
  return id
}

/** One connection, so that its process is known; it adds up the CPU of each statement. */
async function timed(counter: pg.Client, byName: Map<string, number>): Promise<Parameters<typeof countEvents>[0]> {
  const { rows } = await counter.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  const pids = [rows[0]?.pid ?? 0]
  const query = async (statement: Parameters<Queryable['query']>[0], values?: readonly unknown[]) => {
    const { name, text } = typeof statement === 'string' ? { name: statement, text: statement } : statement
    const before = cpuMsOf(pids)
    const isPrepared = typeof statement !== 'string' && name !== ''
    const result = await counter.query({ text, values: [...(values ?? [])], ...(isPrepared ? { name } : {}) })
    const label = name === '' ? 'statistics-add, crowded' : (name.split(' ')[0] ?? '')
    byName.set(label, (byName.get(label) ?? 0) + cpuMsOf(pids) - before)
    return result
  }
  const tx = { query } as unknown as Queryable
  const transaction = async <T>(work: (tx: Queryable) => Promise<T>): Promise<T> => {
    await query('BEGIN')
    const result = await work(tx)
    await query('COMMIT')
    return result
  }
  return { db: { transaction } } as unknown as Parameters<typeof countEvents>[0]
}

/** Counts in slices of what `--rate` messages a second store until the next round of the worker. */
async function measureCounting(client: pg.Client, counter: pg.Client, workspaces: string[]): Promise<string> {
  const byName = new Map<string, number>()
  const ctx = await timed(counter, byName)
  const rate = Number(given.rate)
  const slice = Math.round(rate * ROUND_SECONDS * intervalsAt(rate * EVENTS_EACH))
  let [nodeMs, events, messages, warmedUp] = [0, 0, 0, 0]
  for (let n = 0; messages < Number(given.messages); n++) {
    if (n === WARM_UP) {
      byName.clear()
      warmedUp = messages
      nodeMs = events = messages = 0
    }
    for (let done = 0; done < slice; done += CHUNK) {
      const count = Math.min(CHUNK, slice - done)
      const { rows } = await client.query<{ ids: string[]; workspaces: string[] }>(ACCEPT, [count, workspaces])
      events += count + ((await client.query(DELIVER, [rows[0]?.ids, rows[0]?.workspaces])).rowCount ?? 0)
      messages += count
    }
    const began = ownCpuMs()
    while (await countEvents(ctx));
    nodeMs += ownCpuMs() - began
  }
  const { rows } = await client.query<{ sent: number }>(
    sql`
      SELECT sum(sent)::int AS sent
      FROM statistics
      WHERE dimension = 'all' AND resolution = 0 AND workspace_id = $1`,
    [INSTALLATION],
  )
  if (rows[0]?.sent !== messages + warmedUp) throw new Error(`counted ${rows[0]?.sent} of ${messages + warmedUp}`)
  const pgMs = [...byName.values()].reduce((sum, ms) => sum + ms, 0)
  const share = (pgMs + nodeMs) / messages / Number(given['message-ms'])
  return formatTable([
    ['CPU of counting', 'ms a message', 'share', ''],
    ...[...byName].map(([name, ms]) => [name, (ms / messages).toFixed(4), '', '']),
    ['PostgreSQL', (pgMs / messages).toFixed(4), '', ''],
    ['Node', (nodeMs / messages).toFixed(4), '', ''],
    [
      `${messages} messages, ${(events / messages).toFixed(2)} events each, ${slice} a round`,
      ((pgMs + nodeMs) / messages).toFixed(4),
      `${(share * 100).toFixed(1)} %`,
      share <= TARGET_SHARE ? '' : 'missed',
    ],
  ])
}
