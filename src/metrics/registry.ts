/**
 * The figures of one process. Observing is an addition to a number; nothing is formatted before somebody asks. Labels are given as values,
 * in the order of the catalogue.
 */
import { METRIC_NAMES, rowOf, type MetricName } from './catalogue.ts'

export interface Series {
  readonly labels: readonly string[]
  /** The value; of a histogram the sum of what was observed. */
  readonly value: number
  /** Of a histogram: observations by the first bound that holds them, the last for those above all. */
  readonly counts?: readonly number[]
}

/** Of one process, or of the installation. */
export type Snapshot = Readonly<Partial<Record<MetricName, readonly Series[]>>>

/** What is read when it is asked for: series by name. */
export type Collector = () => Snapshot

export interface Registry {
  add(name: MetricName, labels: readonly string[], by?: number): void
  observe(name: MetricName, labels: readonly string[], value: number): void
  collect(collector: Collector): void
  snapshot(): Snapshot
}

interface Held {
  readonly labels: readonly string[]
  value: number
  readonly counts?: number[]
}

export function createRegistry(): Registry {
  const held = new Map<MetricName, Map<string, Held>>()
  const collectors: Collector[] = []

  function seriesOf(name: MetricName, labels: readonly string[]): Held {
    const ofName = held.get(name) ?? new Map<string, Held>()
    held.set(name, ofName)
    const key = labels.join('\0')
    const known = ofName.get(key)
    if (known !== undefined) return known
    const { buckets } = rowOf(name)
    const made: Held =
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
      const place = at < 0 ? bounds.length : at
      if (series.counts !== undefined) series.counts[place] = (series.counts[place] ?? 0) + 1
      series.value += value
    },
    collect: (collector) => void collectors.push(collector),
    snapshot: () => {
      const parts: Snapshot[] = [
        Object.fromEntries([...held].map(([name, series]) => [name, [...series.values()]])),
        ...collectors.map((read) => read()),
      ]
      return mergeSnapshots(parts)
    },
  }
}

/** All series of all of them. */
function mergeSnapshots(parts: readonly Snapshot[]): Snapshot {
  const merged: Partial<Record<MetricName, Series[]>> = {}
  for (const name of METRIC_NAMES) {
    const series = parts.flatMap((part) => part[name] ?? [])
    if (series.length > 0) merged[name] = series
  }
  return merged
}

/** A gauge or counter with one value. */
export function single(value: number): readonly Series[] {
  return [{ labels: [], value }]
}
