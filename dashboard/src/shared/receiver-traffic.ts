/** The figures of a receiver, as shares and as courses over time. */
import type { DeskTraffic } from '#dashboard/src/api/endpoints.ts'

interface Interval {
  readonly start: string
  readonly traffic: DeskTraffic
}

export type DayOrWeek = 'hour' | 'day'
const STEP_MS: Readonly<Record<DayOrWeek, number>> = { hour: 3_600_000, day: 86_400_000 }
const STEPS: Readonly<Record<DayOrWeek, number>> = { hour: 24, day: 7 }
const NO_TRAFFIC: DeskTraffic = {
  sent: 0,
  delivered: 0,
  deferred: 0,
  bounced_hard: 0,
  bounced_soft: 0,
  failed: 0,
  complained: 0,
}

export function bouncesOf(traffic: DeskTraffic): number {
  return traffic.bounced_hard + traffic.bounced_soft
}

/** Null where there is nothing to divide by. */
export function shareOf(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole
}

/** The last 24 hours or 7 days of UTC up to `nowMs`; the API leaves out those without mail. */
export function fillIntervals(intervals: readonly Interval[], unit: DayOrWeek, nowMs: number): readonly Interval[] {
  const step = STEP_MS[unit]
  const last = Math.floor(nowMs / step) * step
  const found = new Map(intervals.map(({ start, traffic }) => [Date.parse(start), traffic]))
  return Array.from({ length: STEPS[unit] }, (_, index) => {
    const start = last - (STEPS[unit] - 1 - index) * step
    return { start: new Date(start).toISOString(), traffic: found.get(start) ?? NO_TRAFFIC }
  })
}
