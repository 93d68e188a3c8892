/**
 * Parses times in requests: ISO 8601, or `YYYY-MM-DD_HH:MM:SS`. An offset in the text takes precedence; without one the
 * text is local time in a time zone. A local time in a DST gap means the first instant after the gap; one that occurs
 * twice means the earlier instant.
 */
import { DateTime, IANAZone } from 'luxon'

const TIME_FORMAT = /^\d{4}-?\d\d-?\d\d(?:[T_ ]|$)/i
const OFFSET = /[T_ ].*(?:Z|[+-]\d\d(?::?\d\d)?)$/i
const DAY_MS = 24 * 3600 * 1000
const MINUTE_MS = 60 * 1000
const MAX_LENGTH = 40

/** Whether this is the IANA name of a time zone. */
export function isTimeZone(name: string): boolean {
  return name.length <= 64 && IANAZone.isValidZone(name)
}

/** The instant, or null when the text is not a time. `zone` must be valid. */
export function parseTime(text: string, zone: string): Date | null {
  if (text.length > MAX_LENGTH || !TIME_FORMAT.test(text)) return null
  const iso = text.replace(/^([\d-]+)[_ ]/, '$1T')
  // parsed as UTC: with an offset this is the instant, without one it is local time in milliseconds
  const parsed = DateTime.fromISO(iso, { zone: 'utc' })
  if (!parsed.isValid) return null
  return new Date(OFFSET.test(text) ? parsed.toMillis() : instantOf(parsed.toMillis(), IANAZone.create(zone)))
}

/** The instant at which local time in the zone is `wallMs`. Two clock changes are never less than two days apart. */
function instantOf(wallMs: number, zone: IANAZone): number {
  const before = wallMs - zone.offset(wallMs - DAY_MS) * MINUTE_MS
  const after = wallMs - zone.offset(wallMs + DAY_MS) * MINUTE_MS
  const shown = [before, after].filter((instant) => instant + zone.offset(instant) * MINUTE_MS === wallMs)
  return shown.length > 0 ? Math.min(...shown) : firstAfterGap(after, before, zone)
}

/** Finds the clock change between two instants by binary search. */
function firstAfterGap(from: number, to: number, zone: IANAZone): number {
  const early = zone.offset(from)
  let [low, high] = [from, to]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (zone.offset(middle) === early) low = middle
    else high = middle
  }
  return high
}
