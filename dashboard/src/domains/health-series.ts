/** Statistics of a domain as series for a chart: a day without mail is a zero, not a gap. */
import type { StatisticsCounts } from '#dashboard/src/api/endpoints.ts'

const COUNTERS = ['sent', 'delivered', 'bounced_hard', 'bounced_soft', 'complained'] as const
export type HealthCounts = Readonly<Record<(typeof COUNTERS)[number], number>>

export function sumCounts(counts: readonly StatisticsCounts[]): HealthCounts {
  return Object.fromEntries(
    COUNTERS.map((name) => [name, counts.reduce((sum, one) => sum + (one[name] ?? 0), 0)]),
  ) as unknown as HealthCounts
}

/** @param starts of all days, in the zone of the reader */
export function completeDays(
  rows: readonly { readonly start: string; readonly counts: StatisticsCounts }[],
  starts: readonly string[],
): { readonly start: string; readonly counts: HealthCounts }[] {
  const byTime = Map.groupBy(rows, ({ start }) => Date.parse(start))
  return starts.map((start) => ({
    start,
    counts: sumCounts((byTime.get(Date.parse(start)) ?? []).map((row) => row.counts)),
  }))
}

/** A share of 0 to 1; null if there is nothing to divide by. */
export function rateOf(part: number, whole: number): number | null {
  return whole === 0 ? null : Math.min(1, part / whole)
}
