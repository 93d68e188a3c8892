/**
 * Starts the benchmark's processes, and at the end stops them and their
 * descendants and removes the scratch folder, in reverse order, also after a
 * failure or an interruption. A process that does not stop is killed. When the
 * benchmark itself is killed with -9, the reaper of each process ends it, and
 * only the scratch folder remains.
 */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { attachReaper } from '#bin/supervisor/child-reaper.ts'
import { lastLines } from '#bin/supervisor/log-file.ts'
import { launch } from '#bin/supervisor/processes.ts'
import { UserError } from '#bin/supervisor/user-error.ts'
import { pidsOf } from './cpu.ts'

export interface Program {
  /** The name in messages and of the log file. */
  readonly name: string
  readonly file: string
  readonly args: readonly string[]
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly stopSignal?: 'TERM' | 'INT'
}

export interface StartedProcess {
  readonly pid: number
  /** Resolves when the process has ended, with the reason and the last lines of its log. */
  readonly exited: Promise<string>
  stop(): Promise<void>
}

export interface ProcessManager {
  /** A scratch folder that every user can enter, on a real disk, so that fsync has its real cost. */
  readonly dir: string
  /** True when the folder is in memory: durable writes then cost nothing, and results are not comparable. */
  readonly isInMemory: boolean
  start(program: Program): Promise<StartedProcess>
  /** Registers a function that runs at the end. */
  defer(undo: () => Promise<void>): void
  end(): Promise<void>
}

const STOP_GRACE_MS = 10_000
const TMPFS_MAGIC = 0x01021994
/** Not under /tmp: on many machines that is in memory. */
const SCRATCH = '/var/tmp/mailstead-bench-'

export function createProcessManager(): ProcessManager {
  const dir = mkdtempSync(SCRATCH)
  chmodSync(dir, 0o755)
  mkdirSync(join(dir, 'log'))
  const cleanups: (() => Promise<void>)[] = []
  let ending: Promise<void> | null = null
  const cleanUp = async (): Promise<void> => {
    for (let cleanup = cleanups.pop(); cleanup !== undefined; cleanup = cleanups.pop()) {
      await cleanup().catch((error: unknown) => process.stderr.write(`bench: while ending: ${String(error)}\n`))
    }
    rmSync(dir, { recursive: true, force: true })
  }
  return {
    dir,
    isInMemory: statfsSync(dir).type === TMPFS_MAGIC,
    defer: (cleanup) => {
      cleanups.push(cleanup)
    },
    end: () => (ending ??= cleanUp()),
    start: async (program) => {
      if (ending !== null) throw UserError.of(`cannot start ${program.name}: the benchmark is ending`)
      const started = await startProgram(program, join(dir, 'log', `${program.name}.log`))
      cleanups.push(() => started.stop())
      return started
    },
  }
}

async function startProgram(program: Program, logFile: string): Promise<StartedProcess> {
  const signal = program.stopSignal ?? 'TERM'
  const running = await launch({
    file: program.file,
    args: program.args,
    cwd: program.cwd ?? '/',
    account: null,
    logFile,
    env: { ...program.env },
    stopSignals: [`SIG${signal}`],
    graceMs: STOP_GRACE_MS,
  })
  const reaper = attachReaper(running.pid, signal)
  let stopping: Promise<void> | null = null
  const stop = async (): Promise<void> => {
    const tree = pidsOf(running.pid)
    await running.stop()
    reaper.release()
    tree.forEach(kill)
  }
  return {
    pid: running.pid,
    exited: running.exited.then((reason) => `${program.name} ended: ${reason}\n${lastLines(logFile, 15)}`),
    stop: () => (stopping ??= stop()),
  }
}

/** Kills a descendant that outlived its parent. */
function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has already ended.
  }
}
