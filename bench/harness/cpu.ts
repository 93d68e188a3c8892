/**
 * CPU time and peak memory of process trees, read from /proc: user and system
 * time of every running descendant, and of the ended ones that a parent waited
 * for (PostgreSQL's backends, Haraka's workers, Postfix's daemons). A process
 * that ends while it is read counts as zero; without /proc (not Linux) every
 * value is zero and the report says so.
 */
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'

export interface ProcessUsage {
  /** User and system time of the whole tree since its start. */
  readonly cpuMs: number
  /** VmHWM of the largest process in the tree. */
  readonly peakKb: number
}

/** The pid at the root of each process tree, by its name in the tables. */
export type ProcessGroups = Readonly<Record<string, number>>
export type GroupUsage = Readonly<Record<string, ProcessUsage>>

/** The unit of /proc (USER_HZ): 100 a second on every Linux that Node runs on, whatever the kernel's own tick. */
const TICK_MS = 10

interface ProcessStat {
  readonly pid: number
  readonly parent: number
  readonly own: number
  readonly reaped: number
}

/** One reading of all groups. */
export function readUsage(groups: ProcessGroups): GroupUsage {
  const processes = listProcesses()
  return Object.fromEntries(
    Object.entries(groups).map(([name, root]) => {
      const tree = treeOf(root, processes)
      const ticks = tree.reduce((sum, each) => sum + each.own + each.reaped, 0)
      return [name, { cpuMs: ticks * TICK_MS, peakKb: Math.max(0, ...tree.map((each) => peakKbOf(each.pid))) }]
    }),
  )
}

/** Memory that the process tree uses, its share of what is shared (PSS). 0 where /proc does not say. */
export function memoryMb(root: number): number {
  const sizes = pidsOf(root).map((pid) => {
    try {
      return Number(/^Pss: +(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1'))?.[1] ?? 0)
    } catch {
      return 0
    }
  })
  return sizes.reduce((sum, kb) => sum + kb, 0) / 1024
}

/** How long the main threads of a process tree were ready to run and had no CPU, because others used them. */
export function cpuWaitMs(root: number): number {
  const waits = pidsOf(root).map((pid) => {
    try {
      return Number(readFileSync(`/proc/${pid}/schedstat`, 'latin1').split(' ')[1]) / 1e6
    } catch {
      return 0
    }
  })
  return waits.reduce((sum, ms) => sum + ms, 0)
}

/** CPU time of the ended child processes that this process waited for. */
export function reapedCpuMs(): number {
  return (readProcess(process.pid)?.reaped ?? 0) * TICK_MS
}

/** CPU time of all processes of the machine since it booted, and the time a virtual machine's host gave to others. */
export function machineCpuMs(): number {
  try {
    const [total = ''] = readFileSync('/proc/stat', 'latin1').split('\n', 1)
    const [user = 0, nice = 0, system = 0, , , , , steal = 0] = total.split(/\s+/).slice(1).map(Number)
    return (user + nice + system + steal) * TICK_MS
  } catch {
    return 0
  }
}

/** Resets VmHWM, so that the peak belongs to the next scenario. Needs the permissions of the process's user. */
export function resetPeaks(groups: ProcessGroups): void {
  const processes = listProcesses()
  for (const { pid } of Object.values(groups).flatMap((root) => treeOf(root, processes))) {
    try {
      writeFileSync(`/proc/${pid}/clear_refs`, '5')
    } catch {
      // Another user's process: its peak stays the one since its start, which is not smaller.
    }
  }
}

/** The pids of a process and its descendants, parents first; empty when it has ended. */
export function pidsOf(root: number): number[] {
  return treeOf(root, listProcesses()).map(({ pid }) => pid)
}

/** Fields of /proc/<pid>/stat (proc_pid_stat(5)), in ticks. The command name may contain spaces and parentheses. */
export function parseStat(text: string): ProcessStat | null {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [parent = 0, utime = 0, stime = 0, cutime = 0, cstime = Number.NaN] = [1, 11, 12, 13, 14].map((index) =>
    Number(fields[index]),
  )
  const pid = Number.parseInt(text, 10)
  return pid > 0 && Number.isFinite(cstime) ? { pid, parent, own: utime + stime, reaped: cutime + cstime } : null
}

function listProcesses(): ProcessStat[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => readProcess(Number(name)) ?? [])
  } catch {
    return []
  }
}

function readProcess(pid: number): ProcessStat | null {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return null
  }
}

function treeOf(root: number, processes: readonly ProcessStat[]): ProcessStat[] {
  const tree = processes.filter(({ pid }) => pid === root)
  for (const { pid } of tree) tree.push(...processes.filter(({ parent }) => parent === pid))
  return tree
}

function peakKbOf(pid: number): number {
  try {
    return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0)
  } catch {
    return 0
  }
}
