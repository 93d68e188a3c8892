/**
 * A loop of the worker: runs a round, waits for the interval, and repeats. Rounds of one loop never overlap, and a
 * round that fails is logged and repeated after the interval, or later if it fails again and again. `stop` waits for
 * the current round.
 */
import type { Config } from '#config/load.ts'
import { createDebouncedRunner } from '#src/concurrency/debounced-runner.ts'
import { createFailureBackoff } from '#src/concurrency/failure-backoff.ts'
import type { WorkFound } from '#src/concurrency/work-found.ts'
import type { Context } from '#src/context.ts'
import type { Log } from '#src/platform/log.ts'

export interface Loop {
  stop(): Promise<void>
}

/** One round. True means that there is more to do: the next round follows without a pause. */
export type Round = () => Promise<boolean>
/** One round of a loop that waits longer under load: the intervals until the next round, 0 to continue at once. */
export type ScaledRound = () => Promise<number>
/** One round of a loop with `idleMs`: after rounds that found nothing, the next one comes later. */
export type IdlingRound = () => Promise<WorkFound>
type AnyRound = Round | ScaledRound | IdlingRound

export interface LoopRow {
  /** For the log. */
  readonly name: string
  /** The pause between two rounds, in milliseconds; a function if it depends on a setting. */
  readonly everyMs: number | ((config: Config) => number)
  /** The longest pause of an `IdlingRound`: with each round that finds nothing the pause doubles, up to this. */
  readonly idleMs?: number
  /** Its statements have the patience for bulk work. */
  readonly isBulk?: true
  /** It runs even if the clock of this machine or of PostgreSQL is wrong. */
  readonly isTimeless?: true
  /** Reads files and opens clients; called once, before any loop starts. */
  readonly createRound: (ctx: Context) => AnyRound
}

/** How often a loop that must not run now asks again. */
const CLOSED_MS = 250
const LONGEST_PAUSE_MS = 5000
const SPREAD_MS = 1000

export interface LoopStart {
  readonly name: string
  readonly everyMs: number
  readonly idleMs?: number
  /** The pause before the first round, in milliseconds. */
  readonly firstMs?: number
  readonly round: AnyRound
  /** While this is false, no round begins. */
  readonly mayRun?: () => boolean
}

export function startLoop(
  log: Log,
  { name, everyMs, idleMs = everyMs, firstMs = 0, round, mayRun = () => true }: LoopStart,
): Loop {
  const pauseAfter = createPauses({ everyMs, idleMs })
  const backoff = createFailureBackoff(log, {
    message: 'worker loop failed; it is retried',
    fields: { loop: name },
    firstMs: everyMs,
    longestMs: Math.max(everyMs, LONGEST_PAUSE_MS),
  })
  const runOnce = async (): Promise<number> => {
    if (!mayRun()) return Math.min(everyMs, CLOSED_MS)
    try {
      const result = await round()
      backoff.succeeded()
      return typeof result === 'number' ? result * everyMs : pauseAfter(result)
    } catch (error) {
      return backoff.failed(error)
    }
  }
  const runner = createDebouncedRunner(async () => runner.schedule(await runOnce()), 0)
  runner.schedule(firstMs)
  return { stop: () => runner.stop() }
}

/**
 * The pauses before the first rounds of loops with these intervals, in milliseconds. Loops that begin together also
 * continue together: every second, each needs a connection of its own, and prepares its statements there.
 */
export function firstPauses(intervals: readonly number[]): readonly number[] {
  return intervals.map((everyMs, i) => (Math.min(everyMs, SPREAD_MS) * i) / intervals.length)
}

interface Pauses {
  readonly everyMs: number
  readonly idleMs: number
}

/** Returns the pause after a round, in milliseconds, by what the round found. */
export function createPauses({ everyMs, idleMs }: Pauses): (result: boolean | WorkFound) => number {
  let nextMs = everyMs
  return (result) => {
    const pauseMs = result === 'none' ? nextMs : everyMs
    nextMs = result === 'none' ? Math.min(nextMs * 2, Math.max(everyMs, idleMs)) : everyMs
    return result === 'more' || result === true ? 0 : pauseMs
  }
}
