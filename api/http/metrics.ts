/**
 * The metrics of the api: requests and their durations, commits that stored messages, opens and clicks. `render` adds
 * the metrics of all other processes and of the queues, which those publish to Redis every few seconds. Without Redis
 * it shows the api's own gauges, and the counters that it read last.
 */
import type { Context } from '#src/context.ts'
import type { AcceptedBatches } from '#src/messages/accept.ts'
import { startProcessMetrics } from '#src/metrics/process-metrics.ts'
import { single } from '#src/metrics/registry.ts'
import { renderMetrics, type ReportedSnapshot } from '#src/metrics/exposition-format.ts'
import type { TrackingHitHandler } from '#src/tracking/hit-handler.ts'

export interface Metrics {
  /** Records one answered request. `route` is the name of a route, or `none`. */
  observe(route: string, status: number, seconds: number): void
  /** The metrics of all processes in Prometheus text format. */
  render(): Promise<string>
  stop(): Promise<void>
}

/** Redis is read at most once in this time, however many clients scrape. */
const CACHE_MS = 1000

export function createMetrics(
  ctx: Pick<Context, 'config' | 'db' | 'redis' | 'clock' | 'log'>,
  batches: AcceptedBatches,
  tracking: Pick<TrackingHitHandler, 'counts'>,
): Metrics {
  const own = startProcessMetrics(ctx, 'api')
  own.collect(() => ({
    mailstead_accept_batches_total: single(batches.count),
    mailstead_accept_messages_total: single(batches.messages),
    mailstead_suppressed_recipients_total: [{ labels: ['accepting'], value: batches.suppressed }],
    mailstead_tracking_hits_total: Object.entries(tracking.counts).map(([result, value]) => ({
      labels: [result],
      value,
    })),
  }))
  let read: Promise<ReportedSnapshot[]> = Promise.resolve([])
  let readAtMs = -Infinity
  function readAll(): Promise<ReportedSnapshot[]> {
    if (performance.now() - readAtMs < CACHE_MS) return read
    readAtMs = performance.now()
    return (read = own.readAll())
  }
  return {
    observe: (route, status, seconds) => {
      own.add('mailstead_http_requests_total', [route, String(status)])
      own.observe('mailstead_http_request_duration_seconds', [route], seconds)
    },
    render: async () => renderMetrics(await readAll()),
    stop: () => own.stop(),
  }
}
