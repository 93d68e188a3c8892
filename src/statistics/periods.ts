/** The periods of stored rows, in UTC: pure. Weeks begin on Monday, as those of reports. */
import { type ResolutionName, RESOLUTIONS } from './dimensions.ts'

/** A Monday. */
const FIRST_WEEK_MS = 4 * RESOLUTIONS.day.ms

/** The start of the period that contains a time. */
export function periodOf(resolution: ResolutionName, ms: number): number {
  if (resolution === 'month') {
    const time = new Date(ms)
    return Date.UTC(time.getUTCFullYear(), time.getUTCMonth())
  }
  const { ms: length } = RESOLUTIONS[resolution]
  const shift = resolution === 'week' ? FIRST_WEEK_MS : 0
  return Math.floor((ms - shift) / length) * length + shift
}

/** The end of the period that begins at a time. */
export function periodEnd(resolution: ResolutionName, startMs: number): number {
  return resolution === 'month'
    ? periodOf(resolution, startMs + RESOLUTIONS.month.ms)
    : startMs + RESOLUTIONS[resolution].ms
}
