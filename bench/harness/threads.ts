/**
 * CPU time of a process by kind of thread, from /proc: the main thread with the event loop, libuv's pool (signatures,
 * DNS, files), V8's helpers (garbage collection, compilation), and other threads such as the render thread. Without
 * /proc every value is missing.
 */
import { readFileSync, readdirSync } from 'node:fs'
import { parseStat, pidsOf, type ProcessGroups } from './cpu.ts'

export type ThreadKind = 'main' | 'pool' | 'v8' | 'other'
export type ThreadTimes = Readonly<Partial<Record<ThreadKind, number>>>

/** The unit of /proc: see `cpu.ts`. */
const TICK_MS = 10
/** By the beginning of a thread's name. */
const KINDS: readonly (readonly [name: string, kind: ThreadKind])[] = [
  ['libuv-worker', 'pool'],
  ['V8Worker', 'v8'],
]

/** CPU milliseconds of the threads of each group since they started. */
export function readThreads(groups: ProcessGroups): Readonly<Record<string, ThreadTimes>> {
  return Object.fromEntries(Object.entries(groups).map(([name, root]) => [name, sumThreads(pidsOf(root))]))
}

export function threadsPerMessage(
  before: Readonly<Record<string, ThreadTimes>>,
  after: Readonly<Record<string, ThreadTimes>>,
  count: number,
): Readonly<Record<string, ThreadTimes>> {
  const difference = (name: string, times: ThreadTimes): ThreadTimes =>
    Object.fromEntries(
      Object.entries(times).map(([kind, ms]) => [kind, (ms - (before[name]?.[kind as ThreadKind] ?? 0)) / count]),
    )
  return Object.fromEntries(Object.entries(after).map(([name, times]) => [name, difference(name, times)]))
}

function sumThreads(pids: readonly number[]): ThreadTimes {
  const times: Partial<Record<ThreadKind, number>> = {}
  for (const pid of pids) {
    for (const tid of listThreads(pid)) {
      const thread = readThread(pid, tid)
      if (thread !== null) times[thread.kind] = (times[thread.kind] ?? 0) + thread.ms
    }
  }
  return times
}

function listThreads(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

function readThread(pid: number, tid: string): { readonly kind: ThreadKind; readonly ms: number } | null {
  try {
    const text = readFileSync(`/proc/${pid}/task/${tid}/stat`, 'latin1')
    const stat = parseStat(text)
    const name = text.slice(text.indexOf('(') + 1, text.lastIndexOf(')'))
    return stat === null ? null : { kind: kindOf(name, String(pid) === tid), ms: stat.own * TICK_MS }
  } catch {
    return null
  }
}

export function kindOf(name: string, isMain: boolean): ThreadKind {
  if (isMain) return 'main'
  return KINDS.find(([start]) => name.startsWith(start))?.[1] ?? 'other'
}
