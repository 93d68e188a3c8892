/**
 * Idle latency: one instant message every 100 ms on an otherwise idle server.
 * Measures the time to the receiver's 250, from the 2xx response and from the
 * first byte of the request.
 */
import type { MailsteadBench } from '#bench/harness/bench.ts'
import { waitForArrivals, countViolations } from '#bench/harness/contender.ts'
import type { Probe } from '#bench/harness/load.ts'
import { percentile } from '#bench/harness/stats.ts'

export interface Latencies {
  readonly count: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

export interface LatencyResult {
  /** From the API's response, and from the start of the request. */
  readonly fromAccept: Latencies
  readonly fromPost: Latencies
  readonly violations: readonly string[]
}

const INTERVAL_MS = 100

export async function runLatency({
  mailstead,
  sizes,
  receiver: { sink, port },
}: MailsteadBench): Promise<LatencyResult> {
  try {
    await mailstead.start(['api', 'mta', 'worker'], { '*': port })
    await sink.begin({ from: mailstead.reserve(0), count: sizes.warmUp, hasNumberedBody: true })
    await mailstead.post('instant', { from: mailstead.reserve(sizes.warmUp), count: sizes.warmUp })
    await waitForArrivals(sink, sizes.warmUp)
    const from = mailstead.reserve(sizes.probes)
    await sink.begin({ from, count: sizes.probes, hasNumberedBody: true })
    const probes = await mailstead.probe({ from, count: sizes.probes, intervalMs: INTERVAL_MS })
    await waitForArrivals(sink, sizes.probes)
    const arrivals = await sink.arrivals()
    const violations = countViolations({ count: sizes.probes }, await sink.finish()).map(
      (violation) => `latency: ${violation}`,
    )
    return { ...latencies(probes, arrivals, from), violations }
  } finally {
    await mailstead.stop('worker', 'mta', 'api')
  }
}

/** Latencies of the probes that arrived; `arrivals` starts at number `from`. */
export function latencies(
  probes: readonly Probe[],
  arrivals: Float64Array,
  from: number,
): Pick<LatencyResult, 'fromAccept' | 'fromPost'> {
  const arrived = probes.flatMap(({ number, sentAt, acceptedAt }) => {
    const at = arrivals[number - from] ?? 0
    return at > 0 ? [{ sinceAccept: at - acceptedAt, sincePost: at - sentAt }] : []
  })
  return {
    fromAccept: summarise(arrived.map(({ sinceAccept }) => sinceAccept)),
    fromPost: summarise(arrived.map(({ sincePost }) => sincePost)),
  }
}

/** `values` in milliseconds. */
export function summarise(values: readonly number[]): Latencies {
  if (values.length === 0) return { count: 0, p50Ms: Infinity, p99Ms: Infinity, maxMs: Infinity }
  return {
    count: values.length,
    p50Ms: percentile(values, 50),
    p99Ms: percentile(values, 99),
    maxMs: percentile(values, 100),
  }
}
