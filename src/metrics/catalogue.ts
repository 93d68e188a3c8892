/**
 * Every metric that Mailstead reports, one row each: type, meaning, labels and process. The names are a public
 * contract; docs/reference/metrics.md lists this table. Label values are bounded: names that Mailstead defines, names
 * of the operator's nodes and sources, and for sites a bounded number per process.
 */
import { MAIL_METRICS } from './mail-metric-rows.ts'
import type { MetricRow } from './metric-row.ts'
import { PROCESS_METRICS } from './process-metric-rows.ts'
import { QUEUE_METRICS } from './queue-metric-rows.ts'

export type { MetricRow } from './metric-row.ts'

export const METRICS = { ...PROCESS_METRICS, ...MAIL_METRICS, ...QUEUE_METRICS } as const satisfies Record<
  string,
  MetricRow
>

export type MetricName = keyof typeof METRICS
export const METRIC_NAMES = Object.keys(METRICS) as readonly MetricName[]

export function rowOf(name: MetricName): MetricRow {
  return METRICS[name]
}
