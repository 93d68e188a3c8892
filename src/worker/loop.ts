/**
 * A loop of the worker: does its work, waits, does it again; never twice at once, and never ends because one round failed.
 * `stop` waits for the round under way.
 */
import type { Log } from '#src/log.ts'

export interface Loop {
  stop(): Promise<void>
}

export interface LoopSpec {
  readonly name: string
  readonly everyMs: number
  /** One round; answering true means that there is more to do at once. */
  readonly round: () => Promise<boolean>
}

export function startLoop(log: Log, spec: LoopSpec): Loop {
  let isStopped = false
  let wake = (): void => undefined
  async function run(): Promise<void> {
    while (!isStopped) {
      const isMore = await spec.round().catch((error: unknown) => {
        log.warn({ err: error, loop: spec.name }, 'a round failed; it is repeated')
        return false
      })
      if (!isMore && !isStopped) await pause(spec.everyMs)
    }
  }
  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
  const running = run()
  return {
    stop: async () => {
      isStopped = true
      wake()
      await running
    },
  }
}
