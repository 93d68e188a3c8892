/**
 * How long a refill of the schedule takes, as after the death of a process or of Redis: four workers, one of them late,
 * and the one that refills is killed midway, or not. Prints for waiting recipients with one, few and many due times:
 * the seconds, those that its processes waited for a CPU because of other programs, those from the death of the worker
 * to the next slice of another one, and the CPU of all processes, which depends less on other load. Starts PostgreSQL
 * and Redis of its own.
 * Usage: node bench/refill/main.ts [--waiting N]
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { Redis } from 'ioredis'
import { createProcessManager } from '#bench/harness/process-manager.ts'
import { openBenchStores } from '#bench/harness/stores.ts'
import { formatTable } from '#bench/table.ts'
import { newId } from '#src/platform/id.ts'
import { migrate } from '#src/stores/migrate.ts'
import { sql } from '#src/stores/sql.ts'
import { measureRefill, type Refilled } from './measure.ts'

const MAX_WAITING = 3_000_000
const HEAD = [
  'due times',
  'killed',
  'recipients',
  's',
  's without a CPU',
  's to the takeover',
  'CPU s',
  'worker',
  'postgres',
  'redis',
]

const { values: given } = parseArgs({ options: { waiting: { type: 'string', default: '300000' } } })
const waiting = Math.min(MAX_WAITING, Number(given.waiting))

/** Of the same tier and workspace; the ids are of the last seconds, 100 of each millisecond. */
const FILL = sql`
  INSERT INTO recipients (
    message_id, n, workspace_id, tier, kind, address, domain, state, is_open, due_at, is_only, updated_at
  )
  SELECT (lpad(to_hex($4::bigint + i / 100), 12, '0') || '7' || substr(md5(i::text), 1, 19))::uuid, 0, $1, 'bulk', 'to',
    'r' || i || '@d' || i % 200 || '.example', 'd' || i % 200 || '.example', 'queued', true,
    now() - i % $3::int * interval '1 second', true, now()
  FROM generate_series(1, $2::int) i
`

const manager = createProcessManager()
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void manager.end().finally(() => process.exit(130)))
try {
  const stores = await openBenchStores(manager, join(manager.dir, 'data'), () => undefined)
  await migrate(stores.databaseUrl)
  const client = new pg.Client(stores.databaseUrl)
  await client.connect()
  const redis = new Redis(stores.redisUrl)
  const rows = [HEAD]
  for (const dueTimes of [1, 7, 100_000]) {
    await client.query('TRUNCATE recipients')
    await client.query(FILL, [newId(), waiting, dueTimes, Date.now() - waiting / 100])
    for (const isKilled of [false, true])
      rows.push(rowOf(dueTimes, isKilled, await measureRefill(manager, { ...stores, redis, waiting, isKilled })))
  }
  process.stdout.write(`${formatTable(rows)}\n`)
  redis.disconnect()
  await client.end()
} finally {
  await manager.end()
}

function rowOf(dueTimes: number, isKilled: boolean, { scheduled, seconds, takeoverSeconds, cpu }: Refilled): string[] {
  const total = cpu.workers + cpu.postgres + cpu.redis
  return [
    String(dueTimes),
    isKilled ? 'yes' : 'no',
    String(scheduled),
    ...[seconds, cpu.waiting, takeoverSeconds ?? NaN, total, cpu.workers, cpu.postgres, cpu.redis].map((one) =>
      Number.isNaN(one) ? '' : one.toFixed(1),
    ),
  ]
}
