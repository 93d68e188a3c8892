/**
 * The metrics of one process. Recording a value is one addition; nothing is formatted before a scrape. Label values are
 * given in the order of the catalogue.
 */
import { METRIC_NAMES, rowOf, type MetricName } from './catalogue.ts'

export interface MetricSeries {
  readonly labels: readonly string[]
  /** The value; of a histogram, the sum of all observations. */
  readonly value: number
  /**
   * Of a histogram: observations by the first bound that includes them; the last entry counts those above all bounds.
   */
  readonly counts?: readonly number[]
}

/** Metrics of one process, or of the installation. */
export type MetricSnapshot = Readonly<Partial<Record<MetricName, readonly MetricSeries[]>>>

/** Called at a scrape; returns series by name. */
export type MetricCollector = () => MetricSnapshot

export interface MetricRegistry {
  add(name: MetricName, labels: readonly string[], by?: number): void
  observe(name: MetricName, labels: readonly string[], value: number): void
  /** Returns a function that ends the collection. */
  collect(collector: MetricCollector): () => void
  snapshot(): MetricSnapshot
}

interface MutableSeries {
  readonly labels: readonly string[]
  value: number
  readonly counts?: number[]
}

export function createRegistry(): MetricRegistry {
  const seriesByName = new Map<MetricName, Map<string, MutableSeries>>()
  const collectors = new Set<MetricCollector>()

  function seriesOf(name: MetricName, labels: readonly string[]): MutableSeries {
    const ofName = seriesByName.get(name) ?? new Map<string, MutableSeries>()
    seriesByName.set(name, ofName)
    const key = labels.join('\0')
    const known = ofName.get(key)
    if (known !== undefined) return known
    const { buckets } = rowOf(name)
    const made: MutableSeries =
      buckets === undefined
        ? { labels, value: 0 }
        : { labels, value: 0, counts: Array.from({ length: buckets.length + 1 }, () => 0) }
    ofName.set(key, made)
    return made
  }

  return {
    add: (name, labels, by = 1) => {
      seriesOf(name, labels).value += by
    },
    observe: (name, labels, value) => {
      const series = seriesOf(name, labels)
      const bounds = rowOf(name).buckets ?? []
      const at = bounds.findIndex((bound) => value <= bound)
      const bucket = at < 0 ? bounds.length : at
      if (series.counts !== undefined) series.counts[bucket] = (series.counts[bucket] ?? 0) + 1
      series.value += value
    },
    collect: (collector) => {
      collectors.add(collector)
      return () => void collectors.delete(collector)
    },
    snapshot: () => {
      const parts: MetricSnapshot[] = [
        Object.fromEntries([...seriesByName].map(([name, series]) => [name, [...series.values()]])),
        ...[...collectors].map((read) => read()),
      ]
      return mergeSnapshots(parts)
    },
  }
}

/** All series of all snapshots. */
function mergeSnapshots(parts: readonly MetricSnapshot[]): MetricSnapshot {
  const merged: Partial<Record<MetricName, MetricSeries[]>> = {}
  for (const name of METRIC_NAMES) {
    const series = parts.flatMap((part) => part[name] ?? [])
    if (series.length > 0) merged[name] = series
  }
  return merged
}

/** A gauge or counter with one value. */
export function single(value: number): readonly MetricSeries[] {
  return [{ labels: [], value }]
}
