/**
 * The intervals that a report is divided into, in a time zone: pure. Days, weeks and months begin at local midnight, so
 * the day of a clock change has 23 or 25 hours; hours and minutes are of equal length, and a local hour that occurs
 * twice is two intervals.
 */
import { DateTime } from 'luxon'
import { RESOLUTIONS, type ResolutionName } from './dimensions.ts'

interface IntervalRow {
  /** The typical length. */
  readonly ms: number
  /** The coarsest stored rows that it can be made of. */
  readonly needs: ResolutionName
}

export const INTERVALS = {
  minute: { ms: 60_000, needs: 'minute' },
  hour: { ms: 3_600_000, needs: 'hour' },
  day: { ms: 24 * 3_600_000, needs: 'day' },
  week: { ms: 7 * 24 * 3_600_000, needs: 'day' },
  month: { ms: 30 * 24 * 3_600_000, needs: 'day' },
} as const satisfies Record<string, IntervalRow>

export type IntervalName = keyof typeof INTERVALS
export const INTERVAL_NAMES = Object.keys(INTERVALS) as IntervalName[]

/** Intervals of one report. */
export const MAX_INTERVALS = 3000

export interface Division {
  /** The starts of the intervals, in order. */
  readonly starts: readonly Date[]
  /** The end of the last. */
  readonly end: Date
}

/**
 * The intervals that contain the times from `from` to before `to`, whole. Null if they are more than MAX_INTERVALS.
 * `zone` is a valid IANA name.
 */
export function divide(from: Date, to: Date, interval: IntervalName, zone: string): Division | null {
  if ((to.getTime() - from.getTime()) / INTERVALS[interval].ms > MAX_INTERVALS) return null
  const first = DateTime.fromMillis(from.getTime(), { zone }).startOf(interval)
  const starts: Date[] = []
  for (let n = 0; starts.length <= MAX_INTERVALS; n++) {
    const start = first.plus({ [interval]: n })
    if (start.toMillis() >= to.getTime()) return { starts, end: start.toJSDate() }
    starts.push(start.toJSDate())
  }
  return null
}

/** The time from which on rows of this resolution are stored. */
export function storedSince(resolution: ResolutionName, nowMs: number): number {
  return nowMs - RESOLUTIONS[resolution].keptMs
}

/** A time as people of the zone write it: `2026-03-29 00:00`. */
export function localText(time: Date, zone: string): string {
  return DateTime.fromJSDate(time, { zone }).toFormat('yyyy-MM-dd HH:mm')
}
