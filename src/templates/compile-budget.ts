/**
 * How much CPU time the templates of one workspace may use in a minute, in one process. Time that was used returns
 * evenly. A job that had to be killed costs twice its limit: it used the time and a thread has to start again. A
 * workspace begins a job while it has any time left, so that one expensive template is possible at any time.
 */
import type { Clock } from '#src/platform/clock.ts'

export interface CompileBudget {
  /** Whole seconds until a job may begin; null: now. */
  wait(workspaceId: string): number | null
  charge(workspaceId: string, cpuMs: number): void
}

/** CPU milliseconds. A large newsletter in MJML takes 200; killing a job charges 6000. */
const COMPILE_MS_PER_MINUTE = 15_000
const MINUTE_MS = 60_000
/** More are forgotten, the oldest first. */
const MAX_WORKSPACES = 10_000

interface Usage {
  readonly usedMs: number
  readonly atMs: number
}

export function createCompileBudget(clock: Clock, perMinuteMs = COMPILE_MS_PER_MINUTE): CompileBudget {
  const usages = new Map<string, Usage>()
  const usedBy = (workspaceId: string): number => {
    const { usedMs, atMs } = usages.get(workspaceId) ?? { usedMs: 0, atMs: 0 }
    const passedMs = Math.max(0, clock.now() - atMs)
    return Math.max(0, usedMs - (passedMs * perMinuteMs) / MINUTE_MS)
  }
  return {
    wait: (workspaceId) => {
      const overMs = usedBy(workspaceId) - perMinuteMs
      return overMs < 0 ? null : Math.max(1, Math.ceil((overMs / perMinuteMs) * (MINUTE_MS / 1000)))
    },
    charge: (workspaceId, cpuMs) => {
      const usedMs = usedBy(workspaceId) + cpuMs
      usages.delete(workspaceId)
      usages.set(workspaceId, { usedMs, atMs: clock.now() })
      const oldest = usages.size > MAX_WORKSPACES ? usages.keys().next().value : undefined
      if (oldest !== undefined) usages.delete(oldest)
    },
  }
}
