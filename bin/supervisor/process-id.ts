/**
 * A process for good: its pid together with the moment it started. A pid alone comes back: after kill -9 and a while, the number in a
 * leftover file belongs to somebody else.
 */
import { readFileSync } from 'node:fs'

/**
 * `<pid> <start in clock ticks since boot>` (proc(5), field 22); null when there is no such process, or only its
 * zombie. Without /proc, the pid alone.
 */
export function identify(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name in field 2 may hold spaces and parentheses: count from its end.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' ? null : `${pid} ${fields[19] ?? ''}`
  } catch {
    return process.platform !== 'linux' && responds(pid) ? String(pid) : null
  }
}

/** True when what `identify` said then still holds. */
export function isAlive(identity: string): boolean {
  const pid = Number(identity.split(' ')[0])
  return Number.isInteger(pid) && pid > 0 && identify(pid) === identity
}

function responds(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
