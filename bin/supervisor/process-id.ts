/**
 * Identifies a process by its pid and start time. A pid alone is not unique: the kernel reuses it, so the pid in a file
 * that a killed process left behind may belong to another process.
 */
import { readFileSync } from 'node:fs'

/**
 * `<pid> <start in clock ticks since boot>` (proc(5), field 22); null if the process does not exist or is a zombie.
 * On systems without /proc, the pid alone.
 */
export function identifyProcess(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // the name in field 2 may contain spaces and parentheses, so count from its end
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' ? null : `${pid} ${fields[19] ?? ''}`
  } catch {
    return process.platform !== 'linux' && isSignalable(pid) ? String(pid) : null
  }
}

/** Whether the process with this identity still runs. */
export function isAlive(identity: string): boolean {
  const pid = Number(identity.split(' ')[0])
  return Number.isInteger(pid) && pid > 0 && identifyProcess(pid) === identity
}

function isSignalable(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
