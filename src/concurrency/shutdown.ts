/**
 * The steps of a shutdown under one deadline. A process has 30 s to stop, and a store that hangs must not use them up:
 * a step that does not end in time is left behind and logged, and the next one begins. What a step leaves behind is
 * what a crash would leave, which every part of the system expects.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '#src/platform/log.ts'

/** A step that begins after the deadline has at least this time. */
const LEAST_MS = 200

export interface Shutdown {
  /**
   * Runs a step for at most `maxMs`, and not beyond the deadline. False if it did not end in time or failed; both are
   * logged. Never rejects.
   */
  step(name: string, work: () => Promise<unknown>, maxMs?: number): Promise<boolean>
}

/** Begins now and should end within `totalMs`. */
export function beginShutdown(log: Log, totalMs: number): Shutdown {
  const deadline = performance.now() + totalMs
  return {
    step: async (name, work, maxMs = Infinity) => {
      const ms = Math.max(LEAST_MS, Math.min(maxMs, deadline - performance.now()))
      const timer = new AbortController()
      const late = sleep(ms, 'late' as const, { signal: timer.signal }).catch(() => 'late' as const)
      const result = await Promise.race([
        work().then(
          () => 'done' as const,
          (error: unknown) => ({ error }),
        ),
        late,
      ])
      timer.abort()
      if (result === 'done') return true
      if (result === 'late')
        log.warn(
          { step: name, ms: Math.round(ms) },
          'a step of the stop did not end in time; the stop goes on without it',
        )
      else log.warn({ err: result.error, step: name }, 'a step of the stop failed; the stop goes on')
      return false
    },
  }
}
