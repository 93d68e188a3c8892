/**
 * Arithmetic on snapshots, for processes of one role on one node that are reported as one. Counters and histograms are
 * added; gauges are combined as the catalogue says. Pure.
 */
import { METRIC_NAMES, rowOf, type MetricName, type MetricRow } from './catalogue.ts'
import type { MetricSeries, MetricSnapshot } from './registry.ts'

/** The counters and histograms alone: what remains of a process that ended. */
export function countersOf(snapshot: MetricSnapshot): MetricSnapshot {
  return pick(snapshot, ({ type }) => type !== 'gauge')
}

/** One snapshot of several processes. */
export function combineSnapshots(snapshots: readonly MetricSnapshot[]): MetricSnapshot {
  return mapNames((name) => {
    const series = snapshots.flatMap((snapshot) => snapshot[name] ?? [])
    return combineSeries(series, rowOf(name))
  })
}

/** What was counted since `base`. A series that `base` does not have is unchanged; gauges are, too. */
export function subtractCounters(snapshot: MetricSnapshot, base: MetricSnapshot): MetricSnapshot {
  return mapNames((name) => {
    const before = new Map((base[name] ?? []).map((series) => [keyOf(series.labels), series]))
    if (rowOf(name).type === 'gauge') return snapshot[name] ?? []
    return (snapshot[name] ?? []).map((series) => subtractSeries(series, before.get(keyOf(series.labels))))
  })
}

function mapNames(seriesOf: (name: MetricName) => readonly MetricSeries[]): MetricSnapshot {
  return Object.fromEntries(
    METRIC_NAMES.flatMap((name) => {
      const series = seriesOf(name)
      return series.length === 0 ? [] : [[name, series]]
    }),
  )
}

function pick(snapshot: MetricSnapshot, isWanted: (row: MetricRow) => boolean): MetricSnapshot {
  return mapNames((name) => (isWanted(rowOf(name)) ? (snapshot[name] ?? []) : []))
}

const keyOf = (labels: readonly string[]): string => labels.join('\0')

type Combine = (a: number, b: number) => number

const GAUGES: Readonly<Record<NonNullable<MetricRow['combine']>, Combine>> = {
  sum: (a, b) => a + b,
  max: Math.max,
  min: Math.min,
  furthest: (a, b) => (Math.abs(a) >= Math.abs(b) ? a : b),
}

function combineSeries(all: readonly MetricSeries[], { combine = 'sum' }: MetricRow): MetricSeries[] {
  const combined = new Map<string, MetricSeries>()
  for (const series of all) {
    const key = keyOf(series.labels)
    const known = combined.get(key)
    combined.set(key, known === undefined ? series : addSeries(known, series, GAUGES[combine]))
  }
  return [...combined.values()]
}

/**
 * Removes series beyond the limit of their metric, counted by the first label; the first ones stay. A series that ends
 * is nothing to Prometheus; adding it to another one would look like a burst there.
 */
export function limitNames(snapshot: MetricSnapshot): MetricSnapshot {
  return mapNames((name) => {
    const { maxNames = Infinity } = rowOf(name)
    const names = new Set<string>()
    return (snapshot[name] ?? []).filter(({ labels: [first = ''] }) => {
      if (names.size < maxNames) names.add(first)
      return names.has(first)
    })
  })
}

function addSeries(a: MetricSeries, b: MetricSeries, combine: Combine): MetricSeries {
  const value = combine(a.value, b.value)
  if (a.counts === undefined || b.counts === undefined) return { ...a, value }
  return { ...a, value, counts: a.counts.map((count, i) => count + (b.counts?.[i] ?? 0)) }
}

function subtractSeries(series: MetricSeries, base: MetricSeries | undefined): MetricSeries {
  if (base === undefined) return series
  const value = Math.max(0, series.value - base.value)
  if (series.counts === undefined) return { ...series, value }
  return { ...series, value, counts: series.counts.map((count, i) => Math.max(0, count - (base.counts?.[i] ?? 0))) }
}
