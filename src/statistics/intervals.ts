/**
 * The intervals that a report is divided into, in a time zone: pure. Days, weeks and months begin at local midnight, so
 * the day of a clock change has 23 or 25 hours; hours and minutes are of equal length, and a local hour that occurs
 * twice is two intervals.
 */
import { DateTime, IANAZone } from 'luxon'
import { RESOLUTIONS, type ResolutionName } from './dimensions.ts'

interface IntervalRow {
  /** The typical length. */
  readonly ms: number
  /** The coarsest stored rows that it is made of. */
  readonly needs: ResolutionName
}

export const INTERVALS = {
  minute: { ms: 60_000, needs: 'minute' },
  hour: { ms: 3_600_000, needs: 'hour' },
  day: { ms: 24 * 3_600_000, needs: 'day' },
  week: { ms: 7 * 24 * 3_600_000, needs: 'week' },
  month: { ms: 30 * 24 * 3_600_000, needs: 'month' },
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
  const startOf = startsFrom(DateTime.fromMillis(from.getTime(), { zone }).startOf(interval), interval, zone)
  const starts: Date[] = []
  for (let n = 0; starts.length <= MAX_INTERVALS; n++) {
    const start = new Date(startOf(n))
    if (start >= to) return { starts, end: start }
    starts.push(start)
  }
  return null
}

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

/** The start of the interval `n` after the first. To ask luxon for each of them costs more than to read a report. */
function startsFrom(first: DateTime, interval: IntervalName, zone: string): (n: number) => number {
  const { ms } = INTERVALS[interval]
  if (interval === 'minute' || interval === 'hour') return (n) => first.toMillis() + n * ms
  const offsetAt = offsetsOf(zone)
  const { year, month, day } = first
  return (n) => {
    const wallMs = interval === 'month' ? Date.UTC(year, month - 1 + n) : Date.UTC(year, month - 1, day) + n * ms
    return instantOf(wallMs, first.offset, offsetAt)
  }
}

/**
 * When local time is `wallMs`, as luxon counts: in the hour that a clock change omits, the time after it; of a time
 * that occurs twice, the one that `offset` leads to.
 */
function instantOf(wallMs: number, offset: number, offsetAt: Offsets): number {
  const guessMs = wallMs - offset * MINUTE_MS
  const there = offsetAt(guessMs)
  if (there === offset) return guessMs
  const nextMs = wallMs - there * MINUTE_MS
  const next = offsetAt(nextMs)
  return next === there ? nextMs : wallMs - Math.min(there, next) * MINUTE_MS
}

/** The offset of a zone from UTC in minutes. */
type Offsets = (ms: number) => number

const DAY_MS = 24 * HOUR_MS
const MAX_ZONES = 32
/** Days of one zone; a year of reports. */
const MAX_DAYS = 5000
const zones = new Map<string, Offsets>()

/** Of the zones that were used last: dashboards ask for the same days again and again. */
function offsetsOf(name: string): Offsets {
  const found = zones.get(name) ?? createOffsets(name)
  zones.delete(name)
  zones.set(name, found)
  const [oldest] = zones.keys()
  if (zones.size > MAX_ZONES && oldest !== undefined) zones.delete(oldest)
  return found
}

/**
 * Two clock changes are never less than two days apart, so a day of UTC that begins and ends with the same offset has
 * no other. The library computes it from the text of a date.
 */
function createOffsets(name: string): Offsets {
  if (name === 'UTC') return () => 0
  const zone = IANAZone.create(name)
  const starts = new Map<number, number>()
  const startOffset = (day: number): number => {
    const offset = starts.get(day) ?? zone.offset(day * DAY_MS)
    if (starts.size >= MAX_DAYS) starts.clear()
    starts.set(day, offset)
    return offset
  }
  return (ms) => {
    const day = Math.floor(ms / DAY_MS)
    const offset = startOffset(day)
    return startOffset(day + 1) === offset ? offset : zone.offset(ms)
  }
}

/** The time from which on rows of this resolution are stored. */
export function storedSince(resolution: ResolutionName, nowMs: number): number {
  return nowMs - RESOLUTIONS[resolution].keptMs
}

/** Writes times as people of the zone do: `2026-03-29 00:00`. */
export function createLocalText(zone: string): (time: Date) => string {
  const offsetAt = offsetsOf(zone)
  return (time) => {
    const ms = time.getTime()
    return new Date(ms + offsetAt(ms) * MINUTE_MS).toISOString().slice(0, 16).replace('T', ' ')
  }
}
