/** Alive, ready, and the figures of all processes: for whoever runs the service. */
import { z } from 'zod'
import { isRedisReady } from '#src/stores/redis.ts'
import { CONTENT_TYPE } from '#src/metrics/exposition-format.ts'
import { listMigrations } from '#src/stores/migrations.ts'
import { route } from '#api/http/route.ts'
import type { ApiContext } from '#api/http/context.ts'

/** The process answers. Nothing else is looked at: a store that is away is no reason to restart us. */
export const healthz = route({
  name: 'healthz',
  summary: 'The process is alive',
  method: 'GET',
  paths: ['/healthz'],
  atRoot: true,
  access: 'public',
  status: 200,
  answer: z.object({ status: z.literal('alive') }),
  errors: [],
  handle: () => Promise.resolve({ body: { status: 'alive' } }),
})

const checks = z.object({ postgres: z.string(), migrations: z.string(), redis: z.string() })

/** Red while PostgreSQL or Redis is away or migrations are pending; says which. */
export const readyz = route({
  name: 'readyz',
  summary: 'The process and its stores are ready',
  method: 'GET',
  paths: ['/readyz'],
  atRoot: true,
  access: 'public',
  status: 200,
  answer: z.object({ status: z.literal('ready'), checks }),
  further: {
    503: {
      when: 'not ready; `checks` says what is missing',
      answer: z.object({ status: z.literal('not ready'), checks }),
    },
  },
  errors: [],
  handle: async (ctx) => {
    const found = await check(ctx)
    const isReady = Object.values(found).every((state) => state === 'ok')
    return isReady
      ? { body: { status: 'ready', checks: found } }
      : { status: 503, body: { status: 'not ready', checks: found }, headers: { 'Retry-After': '2' } }
  },
})

export const metrics = route({
  name: 'metrics',
  summary: 'Figures of all processes in the Prometheus text form',
  method: 'GET',
  paths: ['/metrics'],
  atRoot: true,
  access: 'public',
  status: 200,
  produces: ['text/plain'],
  errors: [],
  handle: async (ctx) => ({ body: await ctx.metrics.render(), type: CONTENT_TYPE }),
})

// A store that hangs is as bad as one that is away; probes time out after a second or more.
const PATIENCE_MS = 900

type Checks = Readonly<Record<'postgres' | 'migrations' | 'redis', string>>

async function check(ctx: ApiContext): Promise<Checks> {
  const [applied, redis] = await Promise.all([
    within(
      ctx.db
        .query<{ name: string }>('SELECT name FROM migrations')
        .then(({ rows }) => rows.map((row) => row.name), noTable),
    ),
    within(isRedisReady(ctx.redis) ? ctx.redis.ping().then(() => true) : Promise.resolve(null)),
  ])
  const pending = applied === null ? [] : listMigrations().filter((name) => !applied.includes(name))
  return {
    postgres: applied === null ? 'away' : 'ok',
    migrations: applied === null ? 'unknown' : pending.length === 0 ? 'ok' : `pending: ${pending.join(', ')}`,
    redis: redis === null ? 'away' : 'ok',
  }
}

/** No table of migrations yet (42P01): all of them are pending. */
function noTable(error: unknown): string[] {
  if (error instanceof Error && 'code' in error && error.code === '42P01') return []
  throw error
}

/** The result, or null when it fails or does not come in time. */
async function within<T>(work: Promise<T>): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, PATIENCE_MS, null)
  })
  try {
    return await Promise.race([work, late])
  } catch {
    return null
  } finally {
    clearTimeout(timer)
  }
}
