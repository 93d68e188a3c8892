/**
 * Starts and stops the processes of the supervisor. Each has its own session, so Ctrl-C reaches only the supervisor,
 * which stops them in order, with one signal after the other. Processes that a killed supervisor left behind are found
 * by their working directory.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readdirSync, readlinkSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type SystemAccount, spawnIdentity } from './account.ts'

export interface RunningProcess {
  readonly pid: number
  /** Resolves with the reason, as text, when the process has exited. */
  readonly exited: Promise<string>
  /** Stops the process gracefully; resolves when it has exited. */
  stop(): Promise<void>
  /** Sends SIGKILL; resolves when the process has exited. */
  kill(): Promise<void>
}

export interface LaunchOptions {
  readonly file: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly account: SystemAccount | null
  /** stdout and stderr are appended to this file. */
  readonly logFile: string
  readonly env?: Readonly<Record<string, string>>
  /** Sent in this order, `graceMs` apart. SIGKILL follows. */
  readonly stopSignals: readonly NodeJS.Signals[]
  readonly graceMs: number
}

/** Starts a process. Rejects if the file cannot be executed. */
export async function launch(options: LaunchOptions): Promise<RunningProcess> {
  const log = openSync(options.logFile, 'a', 0o640)
  try {
    const child = spawn(options.file, options.args, {
      ...spawnIdentity(options.account),
      cwd: options.cwd,
      detached: true,
      stdio: ['ignore', log, log],
      env: { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', ...options.env },
    })
    await once(child, 'spawn')
    return watchProcess(child, options)
  } finally {
    closeSync(log)
  }
}

/** Wraps a started child. The child does not keep the caller's event loop alive. */
export function watchProcess(
  child: ChildProcess,
  { stopSignals, graceMs }: Pick<LaunchOptions, 'stopSignals' | 'graceMs'>,
): RunningProcess {
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

/** Whether the promise resolves within `ms`. */
async function within(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const timer = new AbortController()
  const late = sleep(ms, false, { signal: timer.signal }).catch(() => false)
  const inTime = await Promise.race([promise.then(() => true), late])
  timer.abort()
  return inTime
}

/** How long to wait until a process is ready. `signal` aborts the wait. */
export interface ReadyTimeout {
  readonly ms: number
  readonly signal?: AbortSignal | undefined
}

/** Checks every 10 ms whether the process is ready. Returns why it is not: it exited, timed out or was stopped. */
export async function awaitReady(
  process: RunningProcess,
  isReady: () => boolean | Promise<boolean>,
  { ms, signal }: ReadyTimeout,
): Promise<'ready' | 'it ended' | 'it took too long' | 'a stop was requested'> {
  let hasExited = false
  process.exited
    .finally(() => {
      hasExited = true
    })
    .catch(() => {})
  for (const end = Date.now() + ms; Date.now() < end; await sleep(10)) {
    if (signal?.aborted === true) return 'a stop was requested'
    if (hasExited) return 'it ended'
    if (await isReady()) return 'ready'
  }
  return 'it took too long'
}

/** The processes whose working directory is this folder (a path without links). Linux only; empty elsewhere. */
function processesIn(dir: string): number[] {
  return listPids().filter((pid) => {
    try {
      return readlinkSync(`/proc/${pid}/cwd`) === dir
    } catch {
      return false
    }
  })
}

/** Stops all processes that work in this folder, with SIGKILL after `graceMs`. Returns their number. */
export async function stopProcessesIn(dir: string, signal: NodeJS.Signals, graceMs: number): Promise<number> {
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
    // has exited in between
  }
}
