/**
 * When each recipient of a campaign is due: at once, at a wall-clock time where the recipient is, or spread over a while. The clock is that
 * of src/platform/time-input.ts: a time that daylight saving skips is the first instant after the gap, one that comes twice is the earlier.
 */
import { isZone, readMoment } from '#src/platform/time-input.ts'

/** The instant of a wall-clock time in each of these zones, by the name that was given; a zone that this machine does not know is left out. */
export function momentsByZone(localTime: string, zones: Iterable<string>): ReadonlyMap<string, Date> {
  return new Map(
    [...zones].flatMap((zone) => {
      const moment = isZone(zone) ? readMoment(localTime, zone) : null
      return moment === null ? [] : [[zone, moment] as const]
    }),
  )
}

/** When the first of all zones reaches it. Each clock is listed under one of its names: enough for this, not for finding the zone of a contact. */
export function firstMoment(localTime: string): Date {
  const moments = momentsByZone(localTime, ['UTC', ...Intl.supportedValuesOf('timeZone')])
  return new Date(Math.min(...[...moments.values()].map((moment) => moment.getTime())))
}

/** The golden ratio: the multiples of it spread evenly over any interval, however many there are. */
export const EVENLY = 0.6180339887498949
