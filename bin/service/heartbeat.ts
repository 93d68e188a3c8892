/**
 * Shows that this process works: touches HEALTH_FILE, whose age a health check reads, and reports to the watchdog of
 * systemd. Both stop when the event loop does not turn, and go on while a store is away: a restart would not help then.
 * A file that cannot be written is reported once; the health check then fails.
 */
import { writeFileSync } from 'node:fs'
import { reasonOf } from '#bin/supervisor/user-error.ts'
import { removeOrEmpty } from '#src/platform/files.ts'
import type { ServiceManager } from './service-manager.ts'

const TOUCH_MS = 5000

export interface Heartbeat {
  stop(): void
}

/** Starts when the process is ready. `file` is null if there is none. */
export function startHeartbeat(file: string | null, manager: ServiceManager, touchMs = TOUCH_MS): Heartbeat {
  const timers: NodeJS.Timeout[] = []
  if (file !== null) {
    let isReported = false
    const touch = (): void => {
      const problem = tryWrite(file)
      if (problem !== null && !isReported)
        process.stderr.write(`mailstead: HEALTH_FILE cannot be written: ${problem}\n`)
      isReported = problem !== null
    }
    touch()
    timers.push(setInterval(touch, touchMs))
  }
  if (manager.watchdogMs !== null) timers.push(setInterval(() => manager.alive(), manager.watchdogMs))
  for (const timer of timers) timer.unref()
  return {
    stop: () => {
      timers.forEach(clearInterval)
      if (file !== null) tryRemove(file)
    },
  }
}

/** Null, or why it failed. */
function tryWrite(file: string): string | null {
  try {
    writeFileSync(file, `${process.pid}\n`)
    return null
  } catch (error) {
    return reasonOf(error)
  }
}

function tryRemove(file: string): void {
  try {
    removeOrEmpty(file)
  } catch {
    // it could not be written either
  }
}
