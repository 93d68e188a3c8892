/**
 * A loop of the worker: runs a round, waits for the interval, and repeats. Rounds of one loop never overlap, and a
 * round that fails is logged and repeated after the interval, or later if it fails again and again. `stop` waits for
 * the current round.
 *
 * All loops start at the same moment, and many have the same interval: they would run together ever after, and each
 * would hold a connection to PostgreSQL of its own. So the first pause is a random part of the interval.
 */
import type { Config } from '#config/load.ts'
import { createDebouncedRunner } from '#src/concurrency/debounced-runner.ts'
import { createFailureBackoff } from '#src/concurrency/failure-backoff.ts'
import type { Context } from '#src/context.ts'
import type { Log } from '#src/platform/log.ts'

export interface Loop {
  stop(): Promise<void>
}

/** One round. True means that there is more to do: the next round follows without a pause. */
export type Round = () => Promise<boolean>

export interface LoopRow {
  /** For the log. */
  readonly name: string
  /** The pause between two rounds, in milliseconds; a function if it depends on a setting. */
  readonly everyMs: number | ((config: Config) => number)
  /** Its statements have the patience for bulk work. */
  readonly isBulk?: true
  /** It runs even if the clock of this machine or of PostgreSQL is wrong. */
  readonly isTimeless?: true
  /** Reads files and opens clients; called once, before any loop starts. */
  readonly createRound: (ctx: Context) => Round
}

/** How often a loop that must not run now asks again. */
const CLOSED_MS = 250
const LONGEST_PAUSE_MS = 5000

export interface LoopStart {
  readonly name: string
  readonly everyMs: number
  readonly round: Round
  /** While this is false, no round begins. */
  readonly mayRun?: () => boolean
  /** From 0 to 1: the part of the interval that the first pause takes. */
  readonly firstPart?: number
}

export function startLoop(log: Log, row: LoopStart): Loop {
  const { name, everyMs, round, mayRun = () => true, firstPart = Math.random() } = row
  const backoff = createFailureBackoff(log, {
    message: 'worker loop failed; it is retried',
    fields: { loop: name },
    firstMs: everyMs,
    longestMs: Math.max(everyMs, LONGEST_PAUSE_MS),
  })
  let nextPauseMs = everyMs * firstPart
  const runOnce = async (): Promise<number> => {
    if (!mayRun()) return Math.min(everyMs, CLOSED_MS)
    try {
      const isMore = await round()
      backoff.succeeded()
      if (isMore) return 0
      const pauseMs = nextPauseMs
      nextPauseMs = everyMs
      return pauseMs
    } catch (error) {
      return backoff.failed(error)
    }
  }
  const runner = createDebouncedRunner(async () => runner.schedule(await runOnce()), 0)
  runner.schedule(0)
  return { stop: () => runner.stop() }
}
