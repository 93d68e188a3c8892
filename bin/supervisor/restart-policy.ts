/**
 * Restarts a process that exits unexpectedly. The pause before a restart doubles from 100 ms to 10 s, and starts over
 * after the process has run for a minute. Each restart is printed with its reason. A failed start counts as an exit.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { RunningProcess } from './processes.ts'
import { reasonOf, type PrintLine } from './user-error.ts'

const FIRST_PAUSE_MS = 100
const MAX_PAUSE_MS = 10_000
const HEALTHY_MS = 60_000

export interface SupervisedProcess {
  /** The current process, or the last one. */
  readonly current: () => RunningProcess
  /** Stops the process without a restart, also during a restart; resolves when it has exited. */
  readonly stop: () => Promise<void>
}

/** Supervises `first` and each process that `restart` returns. The signal aborts a restart. */
export function superviseProcess(
  name: string,
  first: RunningProcess,
  restart: (signal: AbortSignal) => Promise<RunningProcess>,
  say: PrintLine,
): SupervisedProcess {
  const stopping = new AbortController()
  let current = first
  let pause = FIRST_PAUSE_MS

  const pauseAndStart = async (reason: string): Promise<void> => {
    say(`${name} exited (${reason}); restarting in ${pause} ms`)
    await sleep(pause, undefined, { signal: stopping.signal })
    pause = Math.min(pause * 2, MAX_PAUSE_MS)
    current = await restart(stopping.signal)
    say(`${name} is running again`)
  }
  const watch = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const startedAt = Date.now()
      let reason = await current.exited
      if (Date.now() - startedAt > HEALTHY_MS) pause = FIRST_PAUSE_MS
      for (let isUp = false; !isUp && !stopping.signal.aborted;) {
        const failure = await pauseAndStart(reason).then(() => null, reasonOf)
        isUp = failure === null
        reason = failure ?? ''
      }
    }
  }
  const watching = watch()

  return {
    current: () => current,
    stop: async () => {
      stopping.abort()
      await current.stop()
      await watching
      // a restart may have finished meanwhile
      await current.stop()
    },
  }
}
