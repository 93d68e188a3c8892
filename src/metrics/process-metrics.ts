/**
 * What every process tells of itself, and the beat in which it tells: CPU, memory, how late its event loop is, whether it reaches its
 * stores, its connections. The stores are asked in the beat, not when somebody looks.
 */
import { hostname } from 'node:os'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Context } from '#src/context.ts'
import { isRedisReady } from '#src/stores/redis.ts'
import { forgetFigures, TELL_MS, tellFigures } from './metric-exchange.ts'
import { createRegistry, single, type Registry, type Snapshot } from './registry.ts'

export interface ProcessMetrics extends Registry {
  /** Names the process: role, machine, pid. */
  readonly process: string
  stop(): Promise<void>
}

/** A look at PostgreSQL that takes longer is none. */
const PATIENCE_MS = 3000
const NANO = 1e-9

export function startProcessMetrics(ctx: Pick<Context, 'db' | 'redis' | 'log'>, role: string): ProcessMetrics {
  const registry = createRegistry()
  const name = `${role}:${hostname()}:${process.pid}`
  const delay = monitorEventLoopDelay({ resolution: 20 })
  delay.enable()
  let lag = { p99: 0, max: 0 }
  let isDatabaseUp = true

  async function beat(): Promise<void> {
    lag = { p99: delay.percentile(99) * NANO, max: delay.max * NANO }
    delay.reset()
    isDatabaseUp = await answers(ctx)
    await tellFigures(ctx.redis, name, registry.snapshot())
  }

  registry.collect(() => ({
    ...ownFigures(),
    mailstead_event_loop_lag_seconds: [
      { labels: ['p99'], value: lag.p99 },
      { labels: ['max'], value: lag.max },
    ],
    mailstead_redis_up: single(isRedisReady(ctx.redis) ? 1 : 0),
    mailstead_database_up: single(isDatabaseUp ? 1 : 0),
    mailstead_database_connections: ctx.db.pools().flatMap(({ pool, inUse, idle, waiting }) => [
      { labels: [pool, 'in use'], value: inUse },
      { labels: [pool, 'idle'], value: idle },
      { labels: [pool, 'waiting'], value: waiting },
    ]),
  }))
  const tell = (): void =>
    void beat().catch((error: unknown) => ctx.log.debug({ err: error }, 'figures could not be told; Redis is away'))
  const timer = setInterval(tell, TELL_MS)
  const first = setTimeout(tell, 100)
  return {
    ...registry,
    process: name,
    stop: async () => {
      clearInterval(timer)
      clearTimeout(first)
      delay.disable()
      await forgetFigures(ctx.redis, name).catch(() => undefined)
    },
  }
}

function ownFigures(): Snapshot {
  const { user, system } = process.cpuUsage()
  return {
    process_cpu_seconds_total: single((user + system) / 1e6),
    process_resident_memory_bytes: single(process.memoryUsage.rss()),
    process_start_time_seconds: single(Math.round(Date.now() / 1000 - process.uptime())),
  }
}

async function answers({ db }: Pick<Context, 'db'>): Promise<boolean> {
  const late = new Promise<boolean>((resolve) => setTimeout(resolve, PATIENCE_MS, false).unref())
  return Promise.race([
    db.query('SELECT 1').then(
      () => true,
      () => false,
    ),
    late,
  ])
}
