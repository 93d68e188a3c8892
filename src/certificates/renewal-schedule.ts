/**
 * When a certificate is requested next. Pure. It is renewed after two thirds of its life, whatever the authority's
 * lifetime is, so that a third is left for problems. Certificates that were issued together are not renewed together.
 */
import { backoffMs } from '#src/platform/backoff.ts'

const RENEW_AFTER = 2 / 3
/** The share of the life by which renewals are spread. */
const SPREAD = 1 / 20
const MINUTE = 60
const HOUR = 60 * MINUTE
/** Let's Encrypt allows five failed validations of a name in an hour. */
const RETRY_SECONDS = [MINUTE, 5 * MINUTE, 20 * MINUTE, HOUR, 4 * HOUR, 12 * HOUR, 24 * HOUR]

/** @param random a number in [0, 1) */
export function renewalTime(validFrom: Date, expiresAt: Date, random: number = Math.random()): Date {
  const life = expiresAt.getTime() - validFrom.getTime()
  return new Date(validFrom.getTime() + life * (RENEW_AFTER - SPREAD * random))
}

/** Milliseconds until the next request after `failures` failed ones in a row. */
export function retryDelayMs(failures: number, scale: number): number {
  return backoffMs(RETRY_SECONDS, failures, scale)
}
