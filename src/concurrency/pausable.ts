/**
 * Something that is started and stopped again and again while its process runs, such as a role on a node that is
 * drained. Starts and stops follow each other, however fast the wishes change; the last wish counts. A start that
 * fails is repeated.
 */
import { setTimeout as sleep } from 'node:timers/promises'

export interface Startable {
  stop(): Promise<void>
}

export interface PausableOptions {
  /** Null: it does not start, because the process ends. */
  readonly start: () => Promise<Startable | null>
  readonly onError: (error: unknown) => void
  readonly retryMs?: number
}

export interface Pausable {
  /** Returns at once. */
  setPaused(isPaused: boolean): void
  /** It is stopped, and does not start by itself. */
  readonly isStopped: boolean
  /** For good. Waits for a start or stop under way. */
  stop(): Promise<void>
}

const RETRY_MS = 1000

/** `first` runs already; null: it is paused. */
export function createPausable(
  first: Startable | null,
  { start, onError, retryMs = RETRY_MS }: PausableOptions,
): Pausable {
  let running = first
  let mustRun = first !== null
  let isEnded = false
  let working: Promise<void> | null = null
  const ending = new AbortController()

  /** One step towards what is wanted. */
  async function step(): Promise<void> {
    if (!mustRun && running !== null) {
      const stopping = running
      await stopping.stop()
      running = null
    } else if (mustRun) {
      running = await start()
      if (running === null) isEnded = true
    }
  }

  async function settle(): Promise<void> {
    while (!isEnded && mustRun !== (running !== null))
      try {
        await step()
      } catch (error) {
        onError(error)
        await sleep(retryMs, undefined, { signal: ending.signal }).catch(() => undefined)
      }
  }

  function work(): void {
    working ??= settle().finally(() => {
      working = null
      if (!isEnded && mustRun !== (running !== null)) work()
    })
  }

  return {
    setPaused: (isPaused) => {
      mustRun = !isPaused
      if (!isEnded) work()
    },
    get isStopped() {
      return running === null && !mustRun
    },
    stop: async () => {
      isEnded = true
      ending.abort()
      await working
      await running?.stop()
      running = null
    },
  }
}
