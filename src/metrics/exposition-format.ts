/**
 * Renders metrics in the text format of Prometheus (exposition format 0.0.4): each name once with its help and type,
 * then its series, with the labels `role` and `node` of the processes that report it. A metric that was renamed is
 * reported under both names. A name that the catalogue does not have, from another version, is omitted.
 */
import { METRIC_NAMES, rowOf, type MetricName } from './catalogue.ts'
import type { MetricOwner } from './metric-exchange.ts'
import type { MetricSeries, MetricSnapshot } from './registry.ts'

export interface ReportedSnapshot {
  /** Null for metrics of the whole installation. */
  readonly owner: MetricOwner | null
  readonly snapshot: MetricSnapshot
}

export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

export function renderMetrics(reported: readonly ReportedSnapshot[]): string {
  return `${METRIC_NAMES.flatMap((name) => renderFamily(name, reported)).join('\n')}\n`
}

function renderFamily(metric: MetricName, reported: readonly ReportedSnapshot[]): string[] {
  const { help, type, formerly } = rowOf(metric)
  const renderAs = (name: string, text: string): string[] => {
    const lines = reported.flatMap(({ owner, snapshot }) =>
      (snapshot[metric] ?? []).flatMap((series) => renderSeries({ name, metric, owner }, series)),
    )
    return lines.length === 0 ? [] : [`# HELP ${name} ${text}`, `# TYPE ${name} ${type}`, ...lines]
  }
  return [...renderAs(metric, help), ...(formerly === undefined ? [] : renderAs(formerly, `Renamed to ${metric}.`))]
}

interface SeriesIdentity {
  /** As it is printed. */
  readonly name: string
  readonly metric: MetricName
  readonly owner: MetricOwner | null
}

function renderSeries({ name, metric, owner }: SeriesIdentity, { labels, value, counts }: MetricSeries): string[] {
  const { buckets, labels: names } = rowOf(metric)
  const pairs = names
    .map((label, i) => pairOf(label, labels[i] ?? ''))
    .concat(owner === null ? [] : [pairOf('role', owner.role), pairOf('node', owner.node)])
  if (buckets === undefined || counts === undefined) return [`${name}${inBraces(pairs)} ${value}`]
  let sum = 0
  const lines = counts.map((n, i) => {
    sum += n
    return `${name}_bucket${inBraces([...pairs, pairOf('le', String(buckets[i] ?? '+Inf'))])} ${sum}`
  })
  return [...lines, `${name}_sum${inBraces(pairs)} ${value}`, `${name}_count${inBraces(pairs)} ${sum}`]
}

function pairOf(label: string, value: string): string {
  return `${label}="${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`
}

function inBraces(pairs: readonly string[]): string {
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}
