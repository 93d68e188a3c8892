/**
 * When each recipient of a campaign is due: at once, at a wall-clock time where the recipient is, or spread over a while. The clock is that
 * of src/moment.ts: a time that daylight saving skips is the first instant after the gap, one that comes twice is the earlier.
 */
import { readMoment } from '#src/moment.ts'

/** The instant of a wall-clock time in each zone that this machine knows, by its name. */
export function momentsByZone(localTime: string): ReadonlyMap<string, Date> {
  const zones = ['UTC', ...Intl.supportedValuesOf('timeZone')]
  return new Map(zones.flatMap((zone) => {
    const moment = readMoment(localTime, zone)
    return moment === null ? [] : [[zone, moment] as const]
  }))
}

/** When the first of all zones reaches it. */
export function firstMoment(localTime: string): Date {
  return new Date(Math.min(...[...momentsByZone(localTime).values()].map((moment) => moment.getTime())))
}

/** The golden ratio: the multiples of it spread evenly over any interval, however many there are. */
export const EVENLY = 0.6180339887498949
