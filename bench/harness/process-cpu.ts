/** CPU time of PostgreSQL's backends and of this process, to the nanosecond where the kernel counts so. */
import { readdirSync, readFileSync } from 'node:fs'

/** Milliseconds of these processes since their start. */
export function cpuMsOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + schedMs(pid), 0)
}

/** Milliseconds of this process, all threads. */
export function ownCpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** The backends of a postmaster. */
export function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => parentOf(pid) === parent)
}

/** What a process calls itself, as `postgres: autovacuum worker`. */
export function titleOf(pid: number): string {
  return read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim()
}

function parentOf(pid: number): number {
  const text = read(`/proc/${pid}/stat`)
  return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1])
}

function schedMs(pid: number): number {
  return Number(read(`/proc/${pid}/schedstat`).split(' ')[0] ?? 0) / 1e6
}

/** Empty for a process that has ended. */
function read(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}
