/**
 * The figures of the api: requests and their durations, commits that stored messages, opens and clicks; and, for whoever asks it,
 * the figures of all other processes and of the queues, which they told Redis a few seconds ago. With Redis away it tells of itself.
 */
import type { Context } from '#src/context.ts'
import { hearFigures } from '#src/metrics/metric-exchange.ts'
import { startProcessMetrics } from '#src/metrics/process-metrics.ts'
import { single } from '#src/metrics/registry.ts'
import { renderMetrics, type Told } from '#src/metrics/exposition-format.ts'
import type { TrackingDoor } from '#src/tracking/hit-handler.ts'

export interface Metrics {
  /** One answered request. `route` is a route's name, or `none`. */
  observe(route: string, status: number, seconds: number): void
  /** Of all processes. */
  render(): Promise<string>
  stop(): Promise<void>
}

/** What others told is asked for once in this time, however many look. */
const FRESH_MS = 1000

export function createMetrics(
  ctx: Pick<Context, 'db' | 'redis' | 'log'>,
  batches: { readonly count: number; readonly messages: number },
  tracking: Pick<TrackingDoor, 'counts'>,
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
  let heard: Promise<Told[]> = Promise.resolve([])
  let heardAtMs = -Infinity
  function hear(): Promise<Told[]> {
    if (performance.now() - heardAtMs < FRESH_MS) return heard
    heardAtMs = performance.now()
    return (heard = hearFigures(ctx.redis, own.process))
  }
  return {
    observe: (route, status, seconds) => {
      own.add('mailstead_http_requests_total', [route, String(status)])
      own.observe('mailstead_http_request_duration_seconds', [route], seconds)
    },
    render: async () => renderMetrics([{ process: own.process, snapshot: own.snapshot() }, ...(await hear())]),
    stop: () => own.stop(),
  }
}
