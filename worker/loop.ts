/**
 * A loop of the worker: does its work, waits, does it again; never twice at once, and never ends because one round failed.
 * `stop` waits for the round under way.
 */
import { createDebouncedRunner } from '#src/concurrency/debounced-runner.ts'
import type { Log } from '#src/platform/log.ts'

export interface Loop {
  stop(): Promise<void>
}

export interface LoopSpec {
  readonly name: string
  readonly everyMs: number
  /** One round; answering true means that there is more to do at once. */
  readonly round: () => Promise<boolean>
}

export function startLoop(log: Log, { name, everyMs, round }: LoopSpec): Loop {
  const runner = createDebouncedRunner(async () => {
    const isMore = await round().catch((error: unknown) => {
      log.warn({ err: error, loop: name }, 'a round failed; it is repeated')
      return false
    })
    runner.schedule(isMore ? 0 : everyMs)
  }, 0)
  runner.schedule(0)
  return { stop: () => runner.stop() }
}
