/**
 * Collects the metrics of all processes: each process writes its metrics to Redis every few seconds, and the API reads
 * all of them for a scrape. So one address serves every metric of any number of machines, and no process but the API
 * needs a port. Metrics are a few seconds old; those of a process that ended expire soon. While Redis is unavailable,
 * each process reports only itself.
 */
import type { Context } from '#src/context.ts'
import { isRedisReady, type Redis } from '#src/stores/redis.ts'
import type { MetricSnapshot } from './registry.ts'
import type { ReportedSnapshot } from './exposition-format.ts'

export const PUBLISH_INTERVAL_MS = 5000
const EXPIRY_MS = 4 * PUBLISH_INTERVAL_MS
const READ_TIMEOUT_MS = 1000
/** One hash slot, so that a Redis Cluster reads them together. */
const INDEX = 'mailstead:{metrics}'
const keyOf = (process: string): string => `mailstead:{metrics}:${process}`
/** Metrics of the whole installation, reported by one worker. */
const QUEUE = 'queue'
const QUEUE_TTL_MS = 60_000

/** One clock for all: a process whose clock is ahead would remove the metrics of the others. */
type ExchangeDeps = Pick<Context, 'redis' | 'clock'>

/** Publishes the metrics of a process. They are lost if Redis is unavailable. */
export async function publishMetrics(
  { redis, clock }: ExchangeDeps,
  process: string,
  snapshot: MetricSnapshot,
): Promise<void> {
  if (!isRedisReady(redis)) return
  const now = clock.now()
  await redis
    .multi()
    .zadd(INDEX, now, process)
    .zremrangebyscore(INDEX, '-inf', now - EXPIRY_MS)
    .set(keyOf(process), JSON.stringify(snapshot), 'PX', EXPIRY_MS)
    .exec()
}

export async function removeMetrics(redis: Redis, process: string): Promise<void> {
  if (isRedisReady(redis)) await redis.multi().zrem(INDEX, process).del(keyOf(process)).exec()
}

/** True for one caller in each `everyMs`, across all workers. */
export async function claimQueueReport(redis: Redis, everyMs: number): Promise<boolean> {
  return isRedisReady(redis) && (await redis.set(keyOf(`${QUEUE}:turn`), '1', 'PX', everyMs, 'NX')) === 'OK'
}

export async function publishQueueMetrics(redis: Redis, snapshot: MetricSnapshot): Promise<void> {
  await redis.set(keyOf(QUEUE), JSON.stringify(snapshot), 'PX', QUEUE_TTL_MS)
}

/** The metrics that all other processes published recently; none while Redis does not answer. */
export async function readMetrics(deps: ExchangeDeps, self: string): Promise<ReportedSnapshot[]> {
  if (!isRedisReady(deps.redis)) return []
  const late = new Promise<ReportedSnapshot[]>((resolve) => setTimeout(resolve, READ_TIMEOUT_MS, []).unref())
  return Promise.race([readProcesses(deps, self).catch(() => []), late])
}

async function readProcesses({ redis, clock }: ExchangeDeps, self: string): Promise<ReportedSnapshot[]> {
  const processes = (await redis.zrangebyscore(INDEX, clock.now() - EXPIRY_MS, '+inf')).filter(
    (process) => process !== self,
  )
  const texts = await redis.mget(keyOf(QUEUE), ...processes.map(keyOf))
  return texts.flatMap((text, i) => {
    const snapshot = parse(text)
    return snapshot === null ? [] : [{ process: i === 0 ? null : (processes[i - 1] ?? null), snapshot }]
  })
}

/** Data of another version is ignored. */
function parse(text: string | null): MetricSnapshot | null {
  try {
    const read: unknown = text === null ? null : JSON.parse(text)
    return typeof read === 'object' ? read : null
  } catch {
    return null
  }
}
