/**
 * Runs one piece of work when it is time: asked for by anybody, any number of times, it is done once after the last of them, and never
 * twice at once. Between two beginnings lies at least the spacing, so that a shower of requests becomes a few rounds; a request after a
 * quiet time is met at once.
 */
export interface Alarm {
  /** In so many ms, or earlier when it is already set earlier. */
  set(inMs: number): void
  /** Resolves when the round under way is over; none begins after. */
  stop(): Promise<void>
}

/** `round` must not reject. */
export function createAlarm(round: () => Promise<void>, spacingMs: number): Alarm {
  let dueAt = Infinity
  let begunAt = -Infinity
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | null = null
  let isStopped = false

  function arm(): void {
    clearTimeout(timer)
    if (isStopped || running !== null || dueAt === Infinity) return
    timer = setTimeout(begin, Math.max(0, Math.max(dueAt, begunAt + spacingMs) - performance.now()))
  }

  function begin(): void {
    dueAt = Infinity
    begunAt = performance.now()
    running = round().finally(() => {
      running = null
      arm()
    })
  }

  return {
    set: (inMs) => {
      const at = performance.now() + inMs
      if (at >= dueAt) return
      dueAt = at
      arm()
    },
    stop: async () => {
      isStopped = true
      clearTimeout(timer)
      await running
    },
  }
}
