/**
 * The metrics of the api: requests and their durations, commits that stored messages, opens and clicks. `render` adds
 * the metrics of all other processes and of the queues, which those publish to Redis every few seconds. Without Redis
 * it shows the api's own metrics only.
 */
import type { Context } from '#src/context.ts'
import { readMetrics } from '#src/metrics/metric-exchange.ts'
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
  ctx: Pick<Context, 'db' | 'redis' | 'clock' | 'log'>,
  batches: { readonly count: number; readonly messages: number },
  tracking: Pick<TrackingHitHandler, 'counts'>,
): Metrics {
  const own = startProcessMetrics(ctx, 'api')
  own.collect(() => ({
    mailstead_accept_batches_total: single(batches.count),
    mailstead_accept_messages_total: single(batches.messages),
    mailstead_tracking_hits_total: Object.entries(tracking.counts).map(([result, value]) => ({
      labels: [result],
      value,
    })),
  }))
  let others: Promise<ReportedSnapshot[]> = Promise.resolve([])
  let loadedAtMs = -Infinity
  function loadOthers(): Promise<ReportedSnapshot[]> {
    if (performance.now() - loadedAtMs < CACHE_MS) return others
    loadedAtMs = performance.now()
    return (others = readMetrics(ctx, own.process))
  }
  return {
    observe: (route, status, seconds) => {
      own.add('mailstead_http_requests_total', [route, String(status)])
      own.observe('mailstead_http_request_duration_seconds', [route], seconds)
    },
    render: async () => renderMetrics([{ process: own.process, snapshot: own.snapshot() }, ...(await loadOthers())]),
    stop: () => own.stop(),
  }
}
