/** Adds up what a report has read: the rest of each interval, and the totals over the whole time. Pure. */

/** The counters of one value in one interval. */
export interface Counted {
  /** The number of the interval, from 1. */
  readonly bucket: number
  /** The number of the value, from 1; 0: all values, or all others. */
  readonly rank: number
  readonly numbers: number[]
}

export type CountedTotal = Omit<Counted, 'bucket'>

interface Sums {
  /** By interval, then by rank, the rest last; without those that are zero. */
  readonly rows: readonly Counted[]
  /** The largest first, the rest last. */
  readonly totals: readonly CountedTotal[]
}

/** `isRest`: rank 0 has the sums of all values, and becomes the rest. */
export function addUp(counted: readonly Counted[], isRest: boolean): Sums {
  const last = (rank: number): number => (rank === 0 ? Infinity : rank)
  const ordered = counted.toSorted((a, b) => a.bucket - b.bucket || last(a.rank) - last(b.rank))
  const rows = (isRest ? withRest(ordered) : ordered).filter(({ numbers }) => numbers.some((number) => number > 0))
  const totals = new Map<number, number[]>()
  for (const { rank, numbers } of rows) {
    const total = totals.get(rank)
    if (total === undefined) totals.set(rank, [...numbers])
    else add(total, numbers)
  }
  const sized = [...totals].map(([rank, numbers]) => ({ rank, numbers, size: rank === 0 ? -1 : sumOf(numbers) }))
  return { rows, totals: sized.toSorted((a, b) => b.size - a.size) }
}

function withRest(ordered: readonly Counted[]): Counted[] {
  let listed: number[] | null = null
  let listedIn = 0
  return ordered.map((row) => {
    const { bucket, rank, numbers } = row
    if (bucket !== listedIn) listed = null
    listedIn = bucket
    if (rank !== 0) {
      if (listed === null) listed = [...numbers]
      else add(listed, numbers)
      return row
    }
    // rows of a long time ago may be deleted before or after their sums
    return listed === null
      ? row
      : { ...row, numbers: numbers.map((number, i) => Math.max(0, number - (listed?.[i] ?? 0))) }
  })
}

function add(to: number[], numbers: readonly number[]): void {
  for (let i = 0; i < numbers.length; i++) to[i] = (to[i] ?? 0) + (numbers[i] ?? 0)
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}
