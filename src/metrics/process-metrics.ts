/**
 * Metrics that every process reports about itself at a fixed interval: CPU, memory, event loop delay, availability of
 * its stores, and its connections. The stores are checked at the interval, not at a scrape.
 */
import { hostname } from 'node:os'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Context } from '#src/context.ts'
import { isRedisReady } from '#src/stores/redis.ts'
import { removeMetrics, PUBLISH_INTERVAL_MS, publishMetrics } from './metric-exchange.ts'
import { createRegistry, single, type MetricRegistry, type MetricSeries, type MetricSnapshot } from './registry.ts'

export interface ProcessMetrics extends MetricRegistry {
  /** Identifies the process: role, machine, pid. */
  readonly process: string
  stop(): Promise<void>
}

/** A query that takes longer counts as unavailable. */
const QUERY_TIMEOUT_MS = 3000
const NANO = 1e-9

export function startProcessMetrics(
  ctx: Pick<Context, 'db' | 'redis' | 'clock' | 'log'>,
  role: string,
): ProcessMetrics {
  const registry = createRegistry()
  const name = `${role}:${hostname()}:${process.pid}`
  const delay = monitorEventLoopDelay({ resolution: 20 })
  delay.enable()
  let lag = { p99: 0, max: 0 }
  let isDatabaseUp = true

  async function publish(): Promise<void> {
    lag = { p99: delay.percentile(99) * NANO, max: delay.max * NANO }
    delay.reset()
    isDatabaseUp = await isDatabaseReachable(ctx)
    await publishMetrics(ctx, name, registry.snapshot())
  }

  registry.collect(() => ({
    ...ownMetrics(),
    mailstead_event_loop_lag_seconds: [
      { labels: ['p99'], value: lag.p99 },
      { labels: ['max'], value: lag.max },
    ],
    mailstead_redis_up: single(isRedisReady(ctx.redis) ? 1 : 0),
    mailstead_database_up: single(isDatabaseUp ? 1 : 0),
    mailstead_clock_skew_seconds: skewSeries(ctx.db.clock.skewMs()),
    mailstead_database_connections: ctx.db.pools().flatMap(({ pool, inUse, idle, waiting }) => [
      { labels: [pool, 'in use'], value: inUse },
      { labels: [pool, 'idle'], value: idle },
      { labels: [pool, 'waiting'], value: waiting },
    ]),
  }))
  const publishSafely = (): void =>
    void publish().catch((error: unknown) =>
      ctx.log.debug({ err: error }, 'failed to publish metrics; Redis is unavailable'),
    )
  const timer = setInterval(publishSafely, PUBLISH_INTERVAL_MS)
  const first = setTimeout(publishSafely, 100)
  return {
    ...registry,
    process: name,
    stop: async () => {
      clearInterval(timer)
      clearTimeout(first)
      delay.disable()
      await removeMetrics(ctx.redis, name).catch(() => undefined)
    },
  }
}

/** Nothing before the first measurement. */
function skewSeries(skewMs: number | null): readonly MetricSeries[] {
  return skewMs === null ? [] : single(skewMs / 1000)
}

function ownMetrics(): MetricSnapshot {
  const { user, system } = process.cpuUsage()
  return {
    process_cpu_seconds_total: single((user + system) / 1e6),
    process_resident_memory_bytes: single(process.memoryUsage.rss()),
    process_start_time_seconds: single(Math.round(Date.now() / 1000 - process.uptime())),
  }
}

async function isDatabaseReachable({ db }: Pick<Context, 'db'>): Promise<boolean> {
  const late = new Promise<boolean>((resolve) => setTimeout(resolve, QUERY_TIMEOUT_MS, false).unref())
  return Promise.race([
    db.query('SELECT 1').then(
      () => true,
      () => false,
    ),
    late,
  ])
}
