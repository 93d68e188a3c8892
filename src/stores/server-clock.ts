/**
 * The clock of PostgreSQL, as this process knows it. All processes use this clock for ages, due times, leases, quotas
 * and tokens, so a machine whose own clock is wrong does not expire mail. Each measurement bounds the server's time by
 * the moments of the request and of the reply. Between two measurements the monotonic clock of the machine counts, so
 * a step of the machine's clock changes nothing here.
 *
 * Before the first measurement, `now` is the clock of the machine. What must not use that one checks `clockProblem`.
 */
import type { Clock } from '#src/platform/clock.ts'

export interface ServerClock extends Clock {
  /** How far the clock of this machine is ahead of PostgreSQL's, in milliseconds; null before a measurement. */
  skewMs(): number | null
  observe(sample: ClockSample): void
}

/** One measurement; `sentAt` and `receivedAt` are of `performance.now()`. */
export interface ClockSample {
  readonly sentAt: number
  readonly receivedAt: number
  /** The server's clock between the two, epoch milliseconds. */
  readonly serverMs: number
}

/** The server's clock minus the monotonic clock. */
interface Offset {
  readonly ms: number
  /** At most this far from the truth at the time of the measurement. */
  readonly errorMs: number
  readonly measuredAt: number
}

/** Two clocks that nobody corrects drift apart by at most this share of the time. */
const DRIFT = 0.0005

/** The two clocks of the machine are parameters for tests. */
export function createServerClock(
  machine = (): number => Date.now(),
  monotonic = (): number => performance.now(),
): ServerClock {
  let offset: Offset | null = null
  const serverMs = ({ ms }: Offset): number => Math.floor(monotonic() + ms)
  return {
    now: () => (offset === null ? machine() : serverMs(offset)),
    skewMs: () => (offset === null ? null : machine() - serverMs(offset)),
    observe: (sample) => {
      const measured = offsetOf(sample)
      if (offset === null || isBetter(measured, offset)) offset = measured
    },
  }
}

function offsetOf({ sentAt, receivedAt, serverMs }: ClockSample): Offset {
  return { ms: serverMs - (sentAt + receivedAt) / 2, errorMs: (receivedAt - sentAt) / 2, measuredAt: receivedAt }
}

/** It is more exact, or contradicts the known one: the server's clock was set, or another server answers. */
function isBetter(measured: Offset, known: Offset): boolean {
  const errorMs = known.errorMs + DRIFT * (measured.measuredAt - known.measuredAt)
  return measured.errorMs <= errorMs || Math.abs(measured.ms - known.ms) > measured.errorMs + errorMs
}

/**
 * Null while this machine and PostgreSQL agree on the time. Otherwise what differs: one of the two clocks is wrong, and
 * a process cannot know which.
 */
export function clockProblem(clock: Pick<ServerClock, 'skewMs'>, maxSkewSeconds: number): string | null {
  const skewMs = clock.skewMs()
  if (skewMs === null) return "the clock of this machine was not compared with PostgreSQL's yet"
  return Math.abs(skewMs) > maxSkewSeconds * 1000 ? describeSkew(skewMs) : null
}

/** The operator's text for a difference. */
export function describeSkew(skewMs: number): string {
  const { amount, unit, isBehind } = skewParts(skewMs)
  return `the clock of this machine is ${amount} ${unit} ${isBehind ? 'behind' : 'ahead of'} PostgreSQL's`
}

const UNITS = [
  [86_400_000, 'days'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
] as const

interface SkewParts {
  readonly amount: number
  readonly unit: (typeof UNITS)[number][1] | 'ms'
  readonly isBehind: boolean
}

/** A difference in the largest unit that has at least two. */
export function skewParts(skewMs: number): SkewParts {
  const size = Math.abs(skewMs)
  const [unitMs, unit] = UNITS.find(([least]) => size >= 2 * least) ?? ([1, 'ms'] as const)
  return { amount: Math.round(size / unitMs), unit, isBehind: skewMs < 0 }
}
