/**
 * Processes as the supervisor sees them: started in their own session (Ctrl-C
 * at the terminal reaches only the supervisor, which stops them in order),
 * stopped with a signal and then harder ones, and found again by the folder
 * they work in when a killed supervisor left them behind.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readdirSync, readlinkSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Account, identity } from './account.ts'

export interface Running {
  readonly pid: number
  /** Resolves, with the reason in words, when the process is gone. */
  readonly exited: Promise<string>
  /** Orderly stop; resolves when the process is gone. */
  stop(): Promise<void>
  /** kill -9; resolves when the process is gone. */
  kill(): Promise<void>
}

export interface Order {
  readonly file: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly account: Account | null
  /** Where stdout and stderr are appended. */
  readonly logFile: string
  readonly env?: Readonly<Record<string, string>>
  /** Sent one after the other, `graceMs` apart; SIGKILL is last by itself. */
  readonly stopSignals: readonly NodeJS.Signals[]
  readonly graceMs: number
}

/** Starts a process. Rejects when it cannot be executed at all. */
export async function launch(order: Order): Promise<Running> {
  const log = openSync(order.logFile, 'a', 0o640)
  try {
    const child = spawn(order.file, order.args, {
      ...identity(order.account),
      cwd: order.cwd,
      detached: true,
      stdio: ['ignore', log, log],
      env: { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', ...order.env },
    })
    await once(child, 'spawn')
    return running(child, order)
  } finally {
    closeSync(log)
  }
}

/** A started child with its ways to end. The caller's event loop is not held by it. */
export function running(
  child: ChildProcess,
  { stopSignals, graceMs }: Pick<Order, 'stopSignals' | 'graceMs'>,
): Running {
  const exited = once(child, 'exit').then(([code, signal]) =>
    signal === null ? `exit code ${code}` : `signal ${signal}`,
  )
  const stop = async (): Promise<void> => {
    child.ref()
    for (const signal of stopSignals) {
      child.kill(signal)
      if (await within(exited, graceMs)) return
    }
    child.kill('SIGKILL')
    await exited
  }
  const kill = async (): Promise<void> => {
    child.ref()
    child.kill('SIGKILL')
    await exited
  }
  child.unref()
  return { pid: child.pid ?? 0, exited, stop, kill }
}

/** True when the promise resolved within that many milliseconds. */
async function within(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const timer = new AbortController()
  const late = sleep(ms, false, { signal: timer.signal }).catch(() => false)
  const inTime = await Promise.race([promise.then(() => true), late])
  timer.abort()
  return inTime
}

/** How long to wait for a process to be ready, and what ends the wait. */
export interface Patience {
  readonly ms: number
  readonly signal?: AbortSignal | undefined
}

/** Asks every 10 ms whether it is ready; answers why it is not when the process ended first, it took too long, or nobody waits any more. */
export async function awaitReady(
  process: Running,
  isReady: () => boolean | Promise<boolean>,
  { ms, signal }: Patience,
): Promise<'ready' | 'it ended' | 'it took too long' | 'it was told to stop'> {
  let gone = false
  process.exited
    .finally(() => {
      gone = true
    })
    .catch(() => {})
  for (const end = Date.now() + ms; Date.now() < end; await sleep(10)) {
    if (signal?.aborted === true) return 'it was told to stop'
    if (gone) return 'it ended'
    if (await isReady()) return 'ready'
  }
  return 'it took too long'
}

/** Pids of the processes that work in exactly this folder (no links in the path). Linux only; elsewhere none. */
function processesIn(dir: string): number[] {
  return listPids().filter((pid) => {
    try {
      return readlinkSync(`/proc/${pid}/cwd`) === dir
    } catch {
      return false
    }
  })
}

/** Ends whatever still works in this folder: the signal first, SIGKILL after `graceMs`. Returns how many there were. */
export async function sweep(dir: string, signal: NodeJS.Signals, graceMs: number): Promise<number> {
  const found = processesIn(dir)
  found.forEach((pid) => signalPid(pid, signal))
  for (const end = Date.now() + graceMs; processesIn(dir).length > 0; await sleep(10)) {
    if (Date.now() > end) processesIn(dir).forEach((pid) => signalPid(pid, 'SIGKILL'))
  }
  return found.length
}

function listPids(): number[] {
  try {
    return readdirSync('/proc')
      .map(Number)
      .filter((pid) => pid > 1 && pid !== process.pid)
  } catch {
    return []
  }
}

function signalPid(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // Gone in between: that is what was wanted.
  }
}
