/**
 * A loop of the worker: runs a round, waits for the interval, and repeats. Rounds of one loop never overlap, and a
 * round that fails is logged and repeated after the interval. `stop` waits for the current round.
 */
import type { Config } from '#config/load.ts'
import { createDebouncedRunner } from '#src/concurrency/debounced-runner.ts'
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
  /** Reads files and opens clients; called once, before any loop starts. */
  readonly createRound: (ctx: Context) => Round
}

export function startLoop(log: Log, { name, everyMs, round }: { name: string; everyMs: number; round: Round }): Loop {
  const runner = createDebouncedRunner(async () => {
    const isMore = await round().catch((error: unknown) => {
      log.warn({ err: error, loop: name }, 'worker loop failed; it runs again after its interval')
      return false
    })
    runner.schedule(isMore ? 0 : everyMs)
  }, 0)
  runner.schedule(0)
  return { stop: () => runner.stop() }
}
