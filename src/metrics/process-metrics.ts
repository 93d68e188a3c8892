/**
 * Metrics that every process reports about itself at a fixed interval: version, CPU, memory, open files, event loop,
 * disk, and its stores: whether they answer, how long a round trip takes, and the connections. Stores and disk are
 * checked at the interval, not at a scrape. A store or a disk that does not answer leaves the last value.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { monitorEventLoopDelay, performance, type EventLoopUtilization } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import type { Context } from '#src/context.ts'
import { softwareVersion } from '#src/platform/version.ts'
import { isRedisReady } from '#src/stores/redis.ts'
import type { ReportedSnapshot } from './exposition-format.ts'
import { createMetricPublisher, PUBLISH_INTERVAL_MS } from './metric-exchange.ts'
import { createRegistry, single, type MetricRegistry, type MetricSeries, type MetricSnapshot } from './registry.ts'

export interface ProcessMetrics extends MetricRegistry {
  /** The metrics of all processes, with the current ones of this process. */
  readAll(): Promise<ReportedSnapshot[]>
  stop(): Promise<void>
}

/** A query that takes longer counts as unavailable. */
const QUERY_TIMEOUT_MS = 3000
const NANO = 1e-9

export function startProcessMetrics(
  ctx: Pick<Context, 'config' | 'db' | 'redis' | 'clock' | 'log'>,
  role: string,
): ProcessMetrics {
  const registry = createRegistry()
  const publisher = createMetricPublisher(ctx, { role, node: ctx.config.nodeName })
  const eventLoop = watchEventLoop()
  const disk = watchDisk(ctx.config.dataDir)
  let isDatabaseUp = true

  async function publish(): Promise<void> {
    eventLoop.measure()
    ;[isDatabaseUp] = await Promise.all([measureDatabase(ctx, registry), measureRedis(ctx, registry), disk.measure()])
    await publisher.publish(registry.snapshot())
  }

  registry.collect(() => ({
    mailstead_build_info: [{ labels: [softwareVersion(), process.versions.node], value: 1 }],
    mailstead_processes: single(1),
    ...ownMetrics(),
    ...eventLoop.metrics(),
    ...disk.metrics(),
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
    readAll: () => publisher.read(registry.snapshot()),
    stop: async () => {
      clearInterval(timer)
      clearTimeout(first)
      eventLoop.stop()
      await publisher.end(registry.snapshot()).catch(() => undefined)
    },
  }
}

interface Watch {
  readonly metrics: () => MetricSnapshot
}

/** Each sample wakes the process up, which costs CPU while it is idle. */
const SAMPLE_MS = 50

/** Seconds of lag. `sample`, of `monitorEventLoopDelay`, is in nanoseconds and includes the time between samples. */
export function lagSeconds(sample: number): number {
  return Math.max(0, sample * NANO - SAMPLE_MS / 1000)
}

/** Delay and utilization since the measurement before the last one. */
function watchEventLoop(): Watch & { readonly measure: () => void; readonly stop: () => void } {
  const delay = monitorEventLoopDelay({ resolution: SAMPLE_MS })
  delay.enable()
  let lag = { p99: 0, max: 0 }
  let [utilization, before]: [number, EventLoopUtilization] = [0, performance.eventLoopUtilization()]
  return {
    measure: () => {
      lag = { p99: lagSeconds(delay.percentile(99)), max: lagSeconds(delay.max) }
      delay.reset()
      const now = performance.eventLoopUtilization()
      utilization = performance.eventLoopUtilization(now, before).utilization
      before = now
    },
    metrics: () => ({
      mailstead_event_loop_lag_seconds: [
        { labels: ['p99'], value: lag.p99 },
        { labels: ['max'], value: lag.max },
      ],
      mailstead_event_loop_utilization_ratio: single(utilization),
    }),
    stop: () => delay.disable(),
  }
}

/** The file system of DATA_DIR; no series while the folder does not exist. */
function watchDisk(folder: string): Watch & { readonly measure: () => Promise<void> } {
  let disk: MetricSnapshot = {}
  return {
    measure: async () => {
      const found = await statfs(folder).catch(() => null)
      if (found === null) return
      disk = {
        mailstead_disk_free_bytes: single(found.bavail * found.bsize),
        mailstead_disk_size_bytes: single(found.blocks * found.bsize),
      }
    },
    metrics: () => disk,
  }
}

/** Nothing before the first measurement. */
function skewSeries(skewMs: number | null): readonly MetricSeries[] {
  return skewMs === null ? [] : single(skewMs / 1000)
}

function ownMetrics(): MetricSnapshot {
  const { user, system } = process.cpuUsage()
  const heap = getHeapStatistics()
  const { rss, external, arrayBuffers } = process.memoryUsage()
  return {
    process_cpu_seconds_total: single((user + system) / 1e6),
    process_resident_memory_bytes: single(rss),
    process_start_time_seconds: single(Math.round(Date.now() / 1000 - process.uptime())),
    nodejs_heap_size_used_bytes: single(heap.used_heap_size),
    nodejs_heap_size_total_bytes: single(heap.total_heap_size),
    nodejs_heap_size_limit_bytes: single(heap.heap_size_limit),
    nodejs_external_memory_bytes: single(external + arrayBuffers),
    ...openFiles(),
  }
}

/** Only on Linux. */
function openFiles(): MetricSnapshot {
  try {
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return {
      // reading the folder needs a descriptor of its own
      process_open_fds: single(readdirSync('/proc/self/fd').length - 1),
      ...(limit === undefined ? {} : { process_max_fds: single(Number(limit)) }),
    }
  } catch {
    return {}
  }
}

type Measured = Pick<MetricRegistry, 'observe'>

async function measureDatabase({ db }: Pick<Context, 'db'>, registry: Measured): Promise<boolean> {
  const late = new Promise<boolean>((resolve) => setTimeout(resolve, QUERY_TIMEOUT_MS, false).unref())
  return Promise.race([
    timed(registry, 'postgresql', () => db.query('SELECT 1')).then(
      () => true,
      () => false,
    ),
    late,
  ])
}

async function measureRedis({ redis }: Pick<Context, 'redis'>, registry: Measured): Promise<void> {
  if (isRedisReady(redis)) await timed(registry, 'redis', () => redis.ping()).catch(() => undefined)
}

async function timed(registry: Measured, store: string, query: () => Promise<unknown>): Promise<void> {
  const startedAt = performance.now()
  await query()
  registry.observe('mailstead_store_round_trip_seconds', [store], (performance.now() - startedAt) / 1000)
}
