/**
 * Send times of the recipients of a campaign: at once, at a local time in the recipient's time zone, or spread over a
 * period. Local times follow src/platform/time-input.ts: a time skipped by daylight saving is the first instant after
 * the gap; a time that occurs twice is the earlier one.
 */
import { isTimeZone, parseTime } from '#src/platform/time-input.ts'

/** The instant of a local time in each zone, keyed by the name as given. Zones unknown to this machine are omitted. */
export function instantsByZone(localTime: string, zones: Iterable<string>): ReadonlyMap<string, Date> {
  return new Map(
    [...zones].flatMap((zone) => {
      const moment = isTimeZone(zone) ? parseTime(localTime, zone) : null
      return moment === null ? [] : [[zone, moment] as const]
    }),
  )
}

/**
 * When the first of all zones reaches a local time. Each zone is listed under only one of its names, which is enough
 * here but not for looking up a contact's zone.
 */
export function earliestInstant(localTime: string): Date {
  const instants = instantsByZone(localTime, ['UTC', ...Intl.supportedValuesOf('timeZone')])
  return new Date(Math.min(...[...instants.values()].map((moment) => moment.getTime())))
}

/** The multiples of the golden ratio, modulo 1, are evenly distributed for any number of recipients. */
export const GOLDEN_RATIO = 0.6180339887498949
