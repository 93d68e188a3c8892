/**
 * What the number of weekly partitions costs: the same work on a database with 5 of each table and on one with 107 and
 * old mail. Prints CPU of PostgreSQL per message, the feed's poll, the first page of searches, and the memory of a
 * backend, with the ratio of both. Starts PostgreSQL and Redis of its own, or uses a database of its own in that of
 * DATABASE_URL. Both databases are filled first, then measured in turn; the table has the medians. With --quiet the
 * measurement begins when the machine has been idle for half a minute, such as after autovacuum, or after that many
 * minutes.
 * Usage: node bench/partitions/main.ts [--messages N] [--weeks N] [--sends N] [--repeats N] [--quiet MINUTES]
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { pino } from 'pino'
import { machineCpuMs, readUsage } from '#bench/harness/cpu.ts'
import { createProcessManager } from '#bench/harness/process-manager.ts'
import { percentile } from '#bench/harness/stats.ts'
import { APPLICATION_ROLE, superuserUrl } from '#bin/supervisor/postgres-access.ts'
import { openBenchStores } from '#bench/harness/stores.ts'
import { formatTable } from '#bench/table.ts'
import { newId } from '#src/platform/id.ts'
import { openDb } from '#src/stores/db.ts'
import { migrate } from '#src/stores/migrate.ts'
import { fillHistory } from './fill.ts'
import { measureWork, type WorkFigures } from './work.ts'

const { values: given } = parseArgs({
  options: {
    messages: { type: 'string', default: '1000000' },
    weeks: { type: 'string', default: '107' },
    sends: { type: 'string', default: '10000' },
    repeats: { type: 'string', default: '3' },
    quiet: { type: 'string', default: '0' },
  },
})
const MAX_MESSAGES = 10_000_000
const options = {
  messages: Math.min(MAX_MESSAGES, Number(given.messages)),
  weeks: Number(given.weeks),
  sends: Number(given.sends),
}
const say = (line: string): void => {
  process.stderr.write(`${line}\n`)
}

/** At 107 partitions and 10 million messages. */
const TARGETS: Readonly<Partial<Record<keyof WorkFigures, { readonly max: number; readonly isRatio: boolean }>>> = {
  'CPU of PostgreSQL per message, ms': { max: 1.1, isRatio: true },
  'feed poll at its end, ms': { max: 2, isRatio: false },
  'search: newest messages, ms': { max: 200, isRatio: false },
  'search: a recipient, ms': { max: 200, isRatio: false },
  'search: a subject, ms': { max: 200, isRatio: false },
  'search: nothing, ms': { max: 200, isRatio: false },
  'largest backend before the searches, MB': { max: 8, isRatio: false },
  'largest backend after the searches, MB': { max: 8, isRatio: false },
}

/** CPUs in use on a quiet machine, at most, and in how many rounds one after the other. */
const QUIET_SHARE = 0.2
const QUIET_ROUND_MS = 5000
const QUIET_ROUNDS = 6
const FEW_WEEKS = 5
/** The title of a backend that serves a client; others vacuum, or write. */
const CLIENT_BACKEND = /^postgres: \S+ bench_\w+ /
interface Filled {
  readonly url: string
  readonly workspaceId: string
}

const manager = createProcessManager()
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void manager.end().finally(() => process.exit(130)))
try {
  const { databaseUrl, groups } = await openBenchStores(manager, join(manager.dir, 'data'), say)
  const fill = async (name: string, weeks: number, messages: number): Promise<Filled> => {
    const url = await createDatabase(databaseUrl, name)
    say(`${weeks} partitions, ${messages} old messages`)
    const client = new pg.Client(url)
    await client.connect()
    const workspaceId = newId()
    await client.query(`INSERT INTO workspaces (id, key_part, name, plan) VALUES ($1, $2, 'bench', 'enterprise')`, [
      workspaceId,
      workspaceId.replaceAll('-', ''),
    ])
    await fillHistory(client, { weeks, messages, workspaceId }, say).finally(() => client.end())
    return { url, workspaceId }
  }
  const measure = async ({ url, workspaceId }: Filled): Promise<WorkFigures> => {
    const db = openDb(url, pino({ level: 'silent' }))
    const cpuMs = (): number => readUsage(groups)['postgres']?.cpuMs ?? 0
    const memoryMb = (): number => largestBackendMb(groups['postgres'] ?? 0)
    const figures = await measureWork({ db, workspaceId, sends: options.sends, cpuMs, memoryMb })
    await db.close()
    return figures
  }
  const filled = [
    await fill('bench_few', FEW_WEEKS, 0),
    await fill('bench_many', options.weeks, options.messages),
  ] as const
  await waitUntilQuiet(Number(given.quiet) * 60_000)
  const figures: [few: WorkFigures, many: WorkFigures][] = []
  for (let repeat = 0; repeat < Number(given.repeats); repeat++)
    figures.push([await measure(filled[0]), await measure(filled[1])])
  const [few, many] = [medianOf(figures.map(([one]) => one)), medianOf(figures.map(([, one]) => one))]
  const rows = Object.keys(few).map((key) => {
    const name = key as keyof WorkFigures
    const [one, other] = [few[name], many[name]]
    const target = TARGETS[name]
    const isMet = target === undefined || (target.isRatio ? other / one : other) <= target.max
    const shown = target === undefined ? '' : `${target.max}${target.isRatio ? ' times' : ''}`
    return [name, one.toFixed(2), other.toFixed(2), (other / one).toFixed(2), shown, isMet ? '' : 'missed']
  })
  const head = ['', `${FEW_WEEKS} partitions`, `${options.weeks} partitions`, 'ratio', 'at most', '']
  process.stdout.write(`${formatTable([head, ...rows])}\n`)
} finally {
  await manager.end()
}

/** The median of each figure. */
function medianOf(all: readonly WorkFigures[]): WorkFigures {
  const names = Object.keys(all[0] ?? {}) as (keyof WorkFigures)[]
  return Object.fromEntries(
    names.map((name) => [
      name,
      percentile(
        all.map((one) => one[name]),
        50,
      ),
    ]),
  ) as unknown as WorkFigures
}

/** Until the machine is idle for a while, or `limitMs` is over. */
async function waitUntilQuiet(limitMs: number): Promise<void> {
  const begin = performance.now()
  for (let quiet = 0; quiet < QUIET_ROUNDS && performance.now() - begin < limitMs;) {
    const [cpu, at] = [machineCpuMs(), performance.now()]
    await sleep(QUIET_ROUND_MS)
    const share = (machineCpuMs() - cpu) / (performance.now() - at)
    quiet = share < QUIET_SHARE ? quiet + 1 : 0
  }
  say(`measuring, after ${((performance.now() - begin) / 60_000).toFixed(1)} minutes of waiting`)
}

async function createDatabase(url: string, name: string): Promise<string> {
  const isEmbedded = new URL(url).username === APPLICATION_ROLE
  const client = new pg.Client(isEmbedded ? superuserUrl(url) : url)
  await client.connect()
  await client.query(`CREATE DATABASE ${name} ${isEmbedded ? `OWNER ${APPLICATION_ROLE}` : ''}`)
  await client.end()
  const own = new URL(url)
  own.pathname = `/${name}`
  await migrate(own.href)
  return own.href
}

/** Anonymous memory: without the shared buffers that a backend has mapped. */
function largestBackendMb(postmaster: number): number {
  const sizes = readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid))
    .map((pid) => {
      try {
        const status = readFileSync(`/proc/${pid}/status`, 'latin1')
        const isChild = Number(/^PPid:\s+(\d+)/m.exec(status)?.[1]) === postmaster
        const isClient = CLIENT_BACKEND.test(readFileSync(`/proc/${pid}/cmdline`, 'latin1'))
        return isChild && isClient ? Number(/^RssAnon:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) : 0
      } catch {
        return 0 // it has ended
      }
    })
  return percentile(sizes, 100) / 1024
}
