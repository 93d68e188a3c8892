/**
 * Periods of statistics in the zone of the reader, and the period of the same length before, for comparison. Days begin
 * at local midnight, weeks on Monday, as in the API.
 */
/** Counts are stored some seconds after the events, and no topic says when. */
export const REFRESH_MS = 30_000
/** Of the reader. */
export const ZONE = new Intl.DateTimeFormat().resolvedOptions().timeZone

export const PERIOD_NAMES = ['24h', '7d', '30d', '90d', '12m'] as const
export type PeriodName = (typeof PERIOD_NAMES)[number]
export type Interval = 'minute' | 'hour' | 'day' | 'week'

export interface Period {
  readonly name: PeriodName
  readonly interval: Interval
  /** The starts of the intervals, ascending. */
  readonly starts: readonly string[]
  readonly from: string
  readonly previous: {
    readonly from: string
    readonly to: string
    /** Shorter than that of the period where it is stored, so that a part of a day compares with a part of a day. */
    readonly interval: Interval
  }
}

/** Hours are stored for 31 days. */
const ROWS: Readonly<Record<PeriodName, readonly [Interval, count: number, Interval]>> = {
  '24h': ['hour', 24, 'hour'],
  '7d': ['day', 7, 'hour'],
  '30d': ['day', 30, 'day'],
  '90d': ['day', 90, 'day'],
  '12m': ['week', 52, 'day'],
}

export function isPeriodName(name: string | undefined): name is PeriodName {
  return PERIOD_NAMES.some((one) => one === name)
}

export function periodUntil(now: Date, name: PeriodName): Period {
  const [interval, count, previousInterval] = ROWS[name]
  const last = startOf(now, interval)
  const starts = Array.from({ length: count }, (_, index) => shift(last, interval, index - count + 1).toISOString())
  const first = new Date(starts[0] ?? now)
  return {
    name,
    interval,
    starts,
    from: first.toISOString(),
    previous: {
      from: shift(first, interval, -count).toISOString(),
      to: shift(now, interval, -count).toISOString(),
      interval: previousInterval,
    },
  }
}

export function startOf(time: Date, interval: Interval): Date {
  const start = new Date(time)
  start.setSeconds(0, 0)
  if (interval === 'minute') return start
  start.setMinutes(0)
  if (interval !== 'hour') start.setHours(0)
  if (interval === 'week') start.setDate(start.getDate() - ((start.getDay() + 6) % 7))
  return start
}

/** An hour is 3600 s; a day lasts until the same local time of the next day, also when clocks change. */
export function shift(time: Date, interval: Interval, count: number): Date {
  if (interval === 'minute') return new Date(time.getTime() + count * 60_000)
  if (interval === 'hour') return new Date(time.getTime() + count * 3_600_000)
  const shifted = new Date(time)
  shifted.setDate(shifted.getDate() + count * (interval === 'week' ? 7 : 1))
  return shifted
}
