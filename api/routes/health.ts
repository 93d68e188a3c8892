/** Liveness, readiness and the metrics of all processes, for the operator of the service. */
import { z } from 'zod'
import { probeDatabase, probeRedis } from '#src/queue/store-probe.ts'
import { isRedisReady } from '#src/stores/redis.ts'
import { redisProblemOf } from '#src/stores/redis-suitability.ts'
import { clockProblem } from '#src/stores/server-clock.ts'
import { UnsuitableStoreError } from '#src/stores/store-errors.ts'
import { CONTENT_TYPE } from '#src/metrics/exposition-format.ts'
import { compareMigrations } from '#src/stores/migrations.ts'
import { route } from '#api/http/route.ts'
import type { ApiContext } from '#api/http/context.ts'

/** Whether the process responds. It checks no store: an unavailable store is no reason to restart the process. */
export const healthz = route({
  name: 'healthz',
  summary: 'Check that the process is alive',
  method: 'GET',
  paths: ['/healthz'],
  atRoot: true,
  access: 'public',
  status: 200,
  response: z.object({ status: z.literal('alive') }),
  errors: [],
  handle: () => Promise.resolve({ body: { status: 'alive' } }),
})

const checksSchema = z.object({
  postgres: z.string(),
  migrations: z.string(),
  redis: z.string(),
  clock: z.string(),
  node: z.string().meta({ description: '`draining`: the operator drains this node; requests are still accepted' }),
})

/**
 * 503 while a store is unavailable or refuses what mail needs (a write, the scripts of the queues), migrations are
 * pending, the clock is wrong, or the node is being drained; `checks` says which.
 */
export const readyz = route({
  name: 'readyz',
  summary: 'Check that the process and its stores are ready',
  method: 'GET',
  paths: ['/readyz'],
  atRoot: true,
  access: 'public',
  status: 200,
  response: z.object({ status: z.literal('ready'), checks: checksSchema }),
  additionalResponses: {
    503: {
      when: 'not ready; `checks` says what is missing',
      schema: z.object({ status: z.literal('not ready'), checks: checksSchema }),
    },
  },
  errors: [],
  handle: async (ctx) => {
    const checks = { ...(await checkStores(ctx)), node: ctx.node.isDraining ? 'draining' : 'ok' }
    const isReady = Object.values(checks).every((state) => state === 'ok')
    return isReady
      ? { body: { status: 'ready', checks: checks } }
      : { status: 503, body: { status: 'not ready', checks: checks }, headers: { 'Retry-After': '2' } }
  },
})

export const metrics = route({
  name: 'metrics',
  summary: 'Get the metrics of all processes in the Prometheus text format',
  method: 'GET',
  paths: ['/metrics'],
  atRoot: true,
  access: 'public',
  status: 200,
  produces: ['text/plain'],
  errors: [],
  handle: async (ctx) => ({ body: await ctx.metrics.render(), type: CONTENT_TYPE }),
})

// A store that hangs counts as unavailable. Probes of orchestrators time out after one second or more.
const CHECK_TIMEOUT_MS = 900
/** Requests in this time share one check, which writes in both stores. */
const SHARED_MS = 500

type Checks = Readonly<Record<'postgres' | 'migrations' | 'redis' | 'clock', string>>

interface RecentChecks {
  /** By `performance.now()`. */
  readonly atMs: number
  readonly checks: Promise<Checks>
}

const recent = new WeakMap<ApiContext, RecentChecks>()

function checkStores(ctx: ApiContext): Promise<Checks> {
  const atMs = performance.now()
  const last = recent.get(ctx)
  if (last !== undefined && atMs - last.atMs < SHARED_MS) return last.checks
  const checks = runChecks(ctx)
  recent.set(ctx, { atMs, checks })
  return checks
}

async function runChecks(ctx: ApiContext): Promise<Checks> {
  const [applied, redis] = await Promise.all([
    withTimeout(readMigrations(ctx)),
    withTimeout(isRedisReady(ctx.redis) ? probeRedis(ctx) : Promise.reject(redisError(ctx))),
  ])
  if (applied.isFailed) return { postgres: applied.state, migrations: 'unknown', redis: redis.state, clock: 'unknown' }
  const { needed } = compareMigrations(applied.value)
  if (needed.length > 0)
    return { postgres: 'ok', migrations: `pending: ${needed.join(', ')}`, redis: redis.state, clock: 'unknown' }
  const written = await withTimeout(probeDatabase(ctx.db))
  return {
    postgres: written.state,
    migrations: 'ok',
    redis: redis.state,
    clock: clockProblem(ctx.db.clock, ctx.config.maxClockSkewSeconds) ?? 'ok',
  }
}

function readMigrations({ db }: ApiContext): Promise<string[]> {
  return db
    .query<{ name: string }>('SELECT name FROM migrations')
    .then(({ rows }) => rows.map((row) => row.name), emptyWithoutTable)
}

function redisError({ redis }: ApiContext): Error {
  const problem = redisProblemOf(redis)
  return problem === null
    ? new StoreAwayError()
    : new UnsuitableStoreError(`${problem.detail.text}: ${problem.todo.text}`)
}

class StoreAwayError extends Error {
  override readonly name = 'StoreAwayError'
}

/** An empty list if the table does not exist yet (42P01): all migrations are pending. */
function emptyWithoutTable(error: unknown): string[] {
  if (error instanceof Error && 'code' in error && error.code === '42P01') return []
  throw error
}

type CheckResult<T> =
  | { readonly isFailed: false; readonly state: 'ok'; readonly value: T }
  | { readonly isFailed: true; readonly state: string }

/** What the work found. Nothing is said about a store that is away or too slow but that it is away. */
async function withTimeout<T>(work: Promise<T>): Promise<CheckResult<T>> {
  const late = Promise.withResolvers<CheckResult<T>>()
  const timer = setTimeout(() => late.resolve({ isFailed: true, state: 'away' }), CHECK_TIMEOUT_MS)
  const done = work.then(
    (value): CheckResult<T> => ({ isFailed: false, state: 'ok', value }),
    (error: unknown): CheckResult<T> => ({ isFailed: true, state: stateFor(error) }),
  )
  try {
    return await Promise.race([done, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

function stateFor(error: unknown): string {
  if (error instanceof UnsuitableStoreError) return `unsuitable: ${error.message}`
  const isRefusal = error instanceof Error && (error.name === 'ReplyError' || isReadOnly(error))
  return isRefusal ? `refuses a write: ${error.message}` : 'away'
}

/** The server answers and takes no writes: a failover, or a full disk. */
function isReadOnly(error: Error): boolean {
  return 'code' in error && typeof error.code === 'string' && /^(25006|53100)/.test(error.code)
}
