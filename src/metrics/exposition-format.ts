/**
 * Figures in the text form of Prometheus (exposition format 0.0.4): each name once with its help and type, then the series of every process
 * that tells it, told apart by the label `process`. A name that the catalogue does not have, from another version, is left out.
 */
import { METRIC_NAMES, rowOf, type MetricName } from './catalogue.ts'
import type { Series, Snapshot } from './registry.ts'

export interface Told {
  /** Null for figures of the whole installation. */
  readonly process: string | null
  readonly snapshot: Snapshot
}

export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

export function renderMetrics(told: readonly Told[]): string {
  return `${METRIC_NAMES.flatMap((name) => renderFamily(name, told)).join('\n')}\n`
}

function renderFamily(name: MetricName, told: readonly Told[]): string[] {
  const { help, type } = rowOf(name)
  const lines = told.flatMap(({ process, snapshot }) =>
    (snapshot[name] ?? []).flatMap((series) => renderSeries(name, series, process)),
  )
  return lines.length === 0 ? [] : [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines]
}

function renderSeries(name: MetricName, { labels, value, counts }: Series, process: string | null): string[] {
  const { buckets, labels: names } = rowOf(name)
  const pairs = names
    .map((label, i) => pairOf(label, labels[i] ?? ''))
    .concat(process === null ? [] : pairOf('process', process))
  if (buckets === undefined || counts === undefined) return [`${name}${braced(pairs)} ${value}`]
  let sum = 0
  const lines = counts.map((n, i) => {
    sum += n
    return `${name}_bucket${braced([...pairs, pairOf('le', String(buckets[i] ?? '+Inf'))])} ${sum}`
  })
  return [...lines, `${name}_sum${braced(pairs)} ${value}`, `${name}_count${braced(pairs)} ${sum}`]
}

function pairOf(label: string, value: string): string {
  return `${label}="${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`
}

function braced(pairs: readonly string[]): string {
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}
