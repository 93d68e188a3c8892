/**
 * Runs one function on request, never twice at the same time. Any number of requests cause one run, which starts after
 * the last of them. Two starts are at least `spacingMs` apart, so a burst of requests causes a few runs; a request
 * after a quiet period starts immediately.
 */
export interface DebouncedRunner {
  /** Requests a run in `inMs`. An earlier request stays in force. */
  readonly schedule: (inMs: number) => void
  /** Resolves when the current run has ended. No further run starts. */
  stop(): Promise<void>
}

/** `run` must not reject. */
export function createDebouncedRunner(run: () => Promise<void>, spacingMs: number): DebouncedRunner {
  let dueAt = Infinity
  let startedAt = -Infinity
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | null = null
  let isStopped = false

  function arm(): void {
    clearTimeout(timer)
    if (isStopped || running !== null || dueAt === Infinity) return
    timer = setTimeout(start, Math.max(0, Math.max(dueAt, startedAt + spacingMs) - performance.now()))
  }

  function start(): void {
    dueAt = Infinity
    startedAt = performance.now()
    running = run().finally(() => {
      running = null
      arm()
    })
  }

  return {
    schedule: (inMs) => {
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
