/**
 * Statistics of the tables: medians with minimum and maximum over the repeats,
 * and percentiles of latencies. Percentiles are nearest-rank: the result is always
 * a measured value, and p99 of 100 values is the second largest.
 */

export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

/** Median, minimum and maximum of at least one value. */
export function spread(values: readonly number[]): Spread {
  const sorted = ascending(values)
  const middle = (sorted.length - 1) / 2
  const median = (at(sorted, Math.floor(middle)) + at(sorted, Math.ceil(middle))) / 2
  return { median, min: at(sorted, 0), max: at(sorted, sorted.length - 1) }
}

/** The smallest value that at least `percent` per cent of all values do not exceed. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = ascending(values)
  return at(sorted, Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1))
}

function ascending(values: readonly number[]): number[] {
  if (values.length === 0) throw new RangeError('no values were measured')
  return values.toSorted((a, b) => a - b)
}

function at(values: readonly number[], index: number): number {
  const value = values[index]
  if (value === undefined) throw new RangeError(`no value at ${index}`)
  return value
}
