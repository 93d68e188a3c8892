/**
 * Keeps a process running: when it ends without being asked to, it is started again after a pause that doubles from 100 ms to 10 s and
 * starts over after a minute of health. Says why each time. A start that fails counts as an end.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Running } from './processes.ts'
import { reasonOf, type Say } from './user-error.ts'

const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 10_000
const HEALTHY_MS = 60_000

export interface Kept {
  /** The process that runs now, or ran last. */
  readonly current: () => Running
  /** Stops it for good; resolves when it is gone, also while it is being started again. */
  readonly stop: () => Promise<void>
}

/** Watches `first`, and whatever `again` starts after it. The signal tells a start that it is not wanted any more. */
export function keep(name: string, first: Running, again: (signal: AbortSignal) => Promise<Running>, say: Say): Kept {
  const stopping = new AbortController()
  let current = first
  let pause = FIRST_PAUSE_MS

  const pauseAndStart = async (reason: string): Promise<void> => {
    say(`${name} ended (${reason}); starting it again in ${pause} ms`)
    await sleep(pause, undefined, { signal: stopping.signal })
    pause = Math.min(pause * 2, LONGEST_PAUSE_MS)
    current = await again(stopping.signal)
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
      // It may have been in the middle of a start.
      await current.stop()
    },
  }
}
