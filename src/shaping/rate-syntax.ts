/** Rates and durations as written in the shaping file: `100/min`, `2h`. Pure; invalid text and zero give null. */

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  sec: 1000,
  m: MINUTE,
  min: MINUTE,
  h: HOUR,
  hour: HOUR,
  d: 24 * HOUR,
  day: 24 * HOUR,
}

export interface Rate {
  /** Number of events … */
  readonly count: number
  /** … in any period of this length. */
  readonly perMs: number
}

/** `100/min`, `5/s`, `1000 / h`. */
export function readRate(text: string): Rate | null {
  const [, count = '', unit = ''] = /^\s*(\d{1,9})\s*\/\s*([a-z]+)\s*$/i.exec(text) ?? []
  const perMs = UNITS[unit.toLowerCase()]
  return perMs === undefined || Number(count) < 1 ? null : { count: Number(count), perMs }
}

/** `90s`, `15 min`, `2h`, `1d`, in milliseconds. */
export function readDuration(text: string): number | null {
  const [, count = '', unit = ''] = /^\s*(\d{1,6})\s*([a-z]+)\s*$/i.exec(text) ?? []
  const ms = Number(count) * (UNITS[unit.toLowerCase()] ?? 0)
  return ms > 0 ? ms : null
}

/** A token bucket that keeps to a rate: it never gives more than `count` in any `perMs`, however long it was idle. */
export interface Bucket {
  /** Most tokens that can be taken at once. */
  readonly size: number
  readonly refillPerMs: number
}

/** A tenth of the rate may come at once, the rest evenly; together they are the rate. */
export function bucketOf({ count, perMs }: Rate): Bucket {
  const size = Math.max(1, Math.floor(count / 10))
  return { size, refillPerMs: Math.max(count - size, count / 2) / perMs }
}
