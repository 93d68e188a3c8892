/**
 * Moments as clients write them: ISO 8601, or `YYYY-MM-DD_HH:MM:SS`. An offset in the text wins; without one it is the wall clock of
 * a time zone. A wall time that the clock skips (DST gap) means the first instant after the gap; one that comes twice means the earlier.
 */
import { DateTime, IANAZone } from 'luxon'

const WRITTEN = /^\d{4}-?\d\d-?\d\d(?:[T_ ]|$)/i
const OFFSET = /[T_ ].*(?:Z|[+-]\d\d(?::?\d\d)?)$/i
const DAY_MS = 24 * 3600 * 1000
const MINUTE_MS = 60 * 1000
const LONGEST = 40

/** An IANA name that this machine knows. */
export function isZone(name: string): boolean {
  return name.length <= 64 && IANAZone.isValidZone(name)
}

/** The instant, or null when the text is no time. `zone` must be valid. */
export function readMoment(text: string, zone: string): Date | null {
  if (text.length > LONGEST || !WRITTEN.test(text)) return null
  const iso = text.replace(/^([\d-]+)[_ ]/, '$1T')
  // read as if it were UTC: with an offset this is the instant, without one it is the wall clock in milliseconds
  const read = DateTime.fromISO(iso, { zone: 'utc' })
  if (!read.isValid) return null
  return new Date(OFFSET.test(text) ? read.toMillis() : instantOf(read.toMillis(), IANAZone.create(zone)))
}

/** The instant at which the wall clock of the zone shows `wallMs`. No two changes of a clock are less than two days apart. */
function instantOf(wallMs: number, zone: IANAZone): number {
  const before = wallMs - zone.offset(wallMs - DAY_MS) * MINUTE_MS
  const after = wallMs - zone.offset(wallMs + DAY_MS) * MINUTE_MS
  const shown = [before, after].filter((instant) => instant + zone.offset(instant) * MINUTE_MS === wallMs)
  return shown.length > 0 ? Math.min(...shown) : firstAfterGap(after, before, zone)
}

/** The change of the clock between two instants around it, found by halving. */
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
