/** Several workers refill one schedule: on a real PostgreSQL and Redis, with slices of 5000 recipients. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { assert } from 'chai'
import { pino } from 'pino'
import type { Context } from '#src/context.ts'
import { dueKey, EPOCH_KEY, REFILL_KEY } from '#src/queue/keys.ts'
import { sql } from '#src/stores/sql.ts'
import { createContext, type TestContext } from '#test/support/context.ts'
import { until } from '#test/support/until.ts'
import { type Loop, startLoop } from './loop.ts'
import { createReconcileRound } from './reconcile.ts'

const SLICE = 5000
const WAITING = 4 * SLICE + 100
const CHILD = fileURLToPath(import.meta.resolve('./schedule-refill.test-data.ts'))

describe('the refill of the schedule', () => {
  let ctx: TestContext
  let filled: { count: number }[]
  let child: ChildProcess | null = null
  const loops: Loop[] = []

  before(async () => {
    ctx = await createContext({ RECONCILE_SECONDS: '0.1' })
    const workspaceId = await ctx.newWorkspace()
    await ctx.db.query(
      sql`
        INSERT INTO recipients (message_id, n, workspace_id, tier, kind, address, domain, state, is_open, due_at,
          is_only, updated_at)
        SELECT uuidv7, 0, $1, CASE WHEN i <= $3 THEN 'high' ELSE 'bulk' END, 'to', 'a@b.example', 'b.example',
          'queued', true, now() - i % 7 * interval '1 second', true, now()
        FROM generate_series(1, $2::int) i,
          LATERAL (SELECT (lpad(to_hex($4::bigint), 12, '0') || '70008' || lpad(to_hex(i), 15, '0'))::uuid AS uuidv7) u
      `,
      [workspaceId, WAITING, SLICE + 50, Date.now()],
    )
  })
  after(() => ctx.close())
  beforeEach(async () => {
    filled = []
    await ctx.redis.flushall()
  })
  afterEach(async () => {
    child?.kill('SIGKILL')
    child = null
    await Promise.all(loops.splice(0).map((loop) => loop.stop()))
  })

  /** The context of a worker whose finished refills are recorded. */
  const worker = (overrides: Partial<Context> = {}): Context => {
    const write = (line: string): void => {
      const entry = JSON.parse(line) as { msg: string; count: number }
      if (entry.msg === 'the schedule was filled from PostgreSQL') filled.push(entry)
    }
    return { ...ctx, log: pino({ level: 'info' }, { write }), ...overrides }
  }
  const start = (own: Context): void => {
    loops.push(startLoop(own.log, { name: 'reconcile', everyMs: 20, round: createReconcileRound(own) }))
  }
  /** Calls `react` with the number, from 0, of each slice before it is read. A slice has a snapshot of its own. */
  const beforeEachSlice = (react: (number: number) => Promise<unknown>): Context['db'] => {
    let slices = 0
    return {
      ...ctx.db,
      snapshot: async (work, settings) => {
        await react(slices++)
        return ctx.db.snapshot(work, settings)
      },
    }
  }
  const beforeSlice = (number: number, react: () => Promise<unknown>): Context['db'] =>
    beforeEachSlice((slice) => (slice === number ? react() : Promise.resolve()))
  /** The end is saved in Redis first, and logged a moment later. */
  const isSettled = async (): Promise<boolean> =>
    /^\w+$/.test((await ctx.redis.get(EPOCH_KEY)) ?? '') && filled.length > 0
  const scheduled = async (): Promise<number> =>
    (await Promise.all([ctx.redis.zcard(dueKey('high')), ctx.redis.zcard(dueKey('bulk'))])).reduce((a, b) => a + b)
  const position = (): Promise<string | null> => ctx.redis.hget(REFILL_KEY, 'position')

  it('happens once with four workers, one of them late, when the refilling process is killed midway', async () => {
    child = spawn(process.execPath, [CHILD, '2'], {
      env: { PATH: process.env['PATH'], DATABASE_URL: ctx.databaseUrl, REDIS_URL: ctx.redisUrl, LOG_LEVEL: 'silent' },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    await once(child, 'message')
    const saved = await position()
    // sees that a refill is needed, and continues only after it has ended
    const late = Promise.withResolvers<void>()
    const lateRedis = Object.create(ctx.redis) as TestContext['redis']
    lateRedis.get = async (...args: unknown[]) => {
      const found = await ctx.redis.get(...(args as [string]))
      await late.promise
      return found
    }
    const lateRound = createReconcileRound(worker({ redis: lateRedis }))()
    const rounds = Array.from({ length: 3 }, () => createReconcileRound(worker()))
    for (const round of [...rounds, ...rounds]) assert.isTrue(await round(), 'it checks again at once')
    assert.deepEqual([await position(), filled], [saved, []], 'the others wait for a living worker')
    child.kill('SIGKILL')
    for (let i = 0; i < 3; i++) start(worker())
    await until(isSettled)
    late.resolve()
    await lateRound
    assert.deepEqual(
      filled.map(({ count }) => count),
      [WAITING],
      'one refill, and no slice of it twice',
    )
    assert.strictEqual(await scheduled(), WAITING)
  })

  it('repeats after a request only what it had scheduled before, once for any number of requests', async () => {
    const db = beforeSlice(2, async () => {
      // as a dead process that had removed entries which it did not claim
      const [lost = ''] = await ctx.redis.zrange(dueKey('high'), '0', '0')
      await ctx.redis.zrem(dueKey('high'), lost)
      for (let i = 0; i < 3; i++) await ctx.redis.del(EPOCH_KEY)
    })
    start(worker({ db }))
    start(worker({ db }))
    await until(isSettled)
    assert.strictEqual(await scheduled(), WAITING)
    // tier instant has no slice: the request comes in the second slice of tier high
    assert.deepEqual(
      filled.map(({ count }) => count),
      [WAITING + SLICE + 50],
    )
  })

  it('continues to the end and repeats the start when a request comes while it repeats', async () => {
    let requests = 0
    const db = beforeEachSlice(async () => {
      // each time that it begins a pass
      if ((await position()) === '' && requests++ < 3) await ctx.redis.del(EPOCH_KEY)
    })
    start(worker({ db }))
    await until(isSettled)
    assert.strictEqual(await scheduled(), WAITING)
    assert.deepEqual([requests, filled.length], [4, 1])
  })

  it('starts again when Redis loses its data meanwhile', async () => {
    start(worker({ db: beforeSlice(3, () => ctx.redis.flushall()) }))
    await until(isSettled)
    assert.strictEqual(await scheduled(), WAITING)
    assert.lengthOf(filled, 1)
  })
})
