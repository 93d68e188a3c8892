/** How numbers, sizes, durations and times read, in a locale. */

export function formatNumber(value: number, locale: string, isCompact = false): string {
  return new Intl.NumberFormat(
    locale,
    isCompact && Math.abs(value) >= 10_000 ? { notation: 'compact', maximumFractionDigits: 1 } : {},
  ).format(value)
}

/** A share of 0 to 1. Small shares keep two digits, so that 0.04 % is not 0 %. */
export function formatPercent(share: number, locale: string): string {
  const digits = share === 0 || Math.abs(share) >= 0.1 ? 1 : 2
  return new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: digits }).format(share)
}

const BYTE_UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const

export function formatBytes(bytes: number, locale: string): string {
  const step = bytes < 1000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), BYTE_UNITS.length - 1)
  const unit = BYTE_UNITS[step] ?? 'byte'
  const value = bytes / 1000 ** step
  return new Intl.NumberFormat(locale, {
    style: 'unit',
    unit,
    unitDisplay: unit === 'byte' ? 'long' : 'short',
    maximumFractionDigits: value < 10 && step > 0 ? 1 : 0,
  }).format(value)
}

const DURATION_UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const

function formatUnit(value: number, unit: string, locale: string): string {
  const maximumFractionDigits = unit === 'second' && value < 10 ? 1 : 0
  return new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'short', maximumFractionDigits }).format(
    value,
  )
}

/** The two largest units: `1 hr 5 min`, `3.2 sec`, `450 ms`. */
export function formatDuration(seconds: number, locale: string): string {
  if (seconds < 1) return formatUnit(Math.round(seconds * 1000), 'millisecond', locale)
  if (seconds < 10) return formatUnit(seconds, 'second', locale)
  let rest = Math.round(seconds)
  const parts: string[] = []
  for (const [unit, size] of DURATION_UNITS) {
    const count = Math.floor(rest / size)
    rest -= count * size
    if (count > 0) parts.push(formatUnit(count, unit, locale))
    else if (parts.length > 0) break
    if (parts.length === 2) break
  }
  return parts.join(' ')
}

const RELATIVE_UNITS = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const

/** `3 minutes ago`, `in 2 days`, `now`. */
export function formatRelative(instant: Date, now: number, locale: string): string {
  const seconds = (instant.getTime() - now) / 1000
  const formatter = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' })
  for (const [unit, size] of RELATIVE_UNITS)
    if (Math.abs(seconds) >= size) return formatter.format(Math.trunc(seconds / size), unit)
  return Math.abs(seconds) < 5 ? formatter.format(0, 'second') : formatter.format(Math.trunc(seconds), 'second')
}

/** How exact a time is shown. */
export type TimePrecision = 'day' | 'minute' | 'second'

const PRECISIONS: Record<TimePrecision, Intl.DateTimeFormatOptions> = {
  day: { dateStyle: 'medium' },
  minute: { dateStyle: 'medium', timeStyle: 'short' },
  second: { dateStyle: 'medium', timeStyle: 'medium' },
}

export function formatDateTime(instant: Date, locale: string, precision: TimePrecision = 'minute'): string {
  return new Intl.DateTimeFormat(locale, PRECISIONS[precision]).format(instant)
}

/** In the reader's zone and in UTC, for titles. */
export function formatExactTime(instant: Date, locale: string): string {
  const own = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'long' }).format(instant)
  return `${own}\n${instant.toISOString().replace('T', ' ').replace('Z', ' UTC')}`
}
