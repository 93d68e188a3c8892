/** Liveness, readiness and the metrics of all processes, for the operator of the service. */
import { z } from 'zod'
import { isRedisReady } from '#src/stores/redis.ts'
import { CONTENT_TYPE } from '#src/metrics/exposition-format.ts'
import { listMigrations } from '#src/stores/migrations.ts'
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

const checksSchema = z.object({ postgres: z.string(), migrations: z.string(), redis: z.string() })

/** 503 while PostgreSQL or Redis is unavailable or migrations are pending; `checks` says which. */
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
    const checks = await checkStores(ctx)
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

type Checks = Readonly<Record<'postgres' | 'migrations' | 'redis', string>>

async function checkStores(ctx: ApiContext): Promise<Checks> {
  const [applied, redis] = await Promise.all([
    withTimeout(
      ctx.db
        .query<{ name: string }>('SELECT name FROM migrations')
        .then(({ rows }) => rows.map((row) => row.name), emptyWithoutTable),
    ),
    withTimeout(isRedisReady(ctx.redis) ? ctx.redis.ping().then(() => true) : Promise.resolve(null)),
  ])
  const pending = applied === null ? [] : listMigrations().filter((name) => !applied.includes(name))
  return {
    postgres: applied === null ? 'away' : 'ok',
    migrations: applied === null ? 'unknown' : pending.length === 0 ? 'ok' : `pending: ${pending.join(', ')}`,
    redis: redis === null ? 'away' : 'ok',
  }
}

/** An empty list if the table does not exist yet (42P01): all migrations are pending. */
function emptyWithoutTable(error: unknown): string[] {
  if (error instanceof Error && 'code' in error && error.code === '42P01') return []
  throw error
}

/** The result, or null if the work fails or times out. */
async function withTimeout<T>(work: Promise<T>): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, CHECK_TIMEOUT_MS, null)
  })
  try {
    return await Promise.race([work, timeout])
  } catch {
    return null
  } finally {
    clearTimeout(timer)
  }
}
