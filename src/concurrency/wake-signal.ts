/** A wait that others end: a wake-up before it ends it at once, and two wake-ups are at least a spacing apart. */
export interface WakeSignal {
  /** `isLast`: ignores the minimum time between two wake-ups. */
  readonly wake: (isLast?: boolean) => void
  /** Resolves on a wake-up since the last wait, or after `ms`. One wait at a time. */
  wait(ms: number): Promise<void>
}

export function createWakeSignal(spacingMs: number): WakeSignal {
  let isPending = false
  let finishedAt = -Infinity
  let finish = (): void => undefined
  return {
    wake: (isLast = false) => {
      isPending = true
      const delayMs = finishedAt + spacingMs - performance.now()
      if (isLast || delayMs <= 0) finish()
    },
    wait: (ms) =>
      new Promise((resolve) => {
        const delayMs = Math.max(0, finishedAt + spacingMs - performance.now())
        const timers: NodeJS.Timeout[] = []
        finish = () => {
          for (const timer of timers) clearTimeout(timer)
          finish = () => undefined
          isPending = false
          finishedAt = performance.now()
          resolve()
        }
        timers.push(
          setTimeout(() => finish(), ms),
          setTimeout(
            () => {
              if (isPending) finish()
            },
            Math.min(delayMs, ms),
          ),
        )
      }),
  }
}
