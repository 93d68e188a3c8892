/**
 * Everything that the benchmark started and must end: processes and their
 * descendants, and the scratch folder. It ends once, in reverse order, whether
 * the run was good, failed or was interrupted; a process that does not go is
 * killed. When the benchmark itself is killed with -9, each process' leash
 * ends it, and only the scratch folder stays behind.
 */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { leash } from '#bin/supervisor/child-reaper.ts'
import { lastLines } from '#bin/supervisor/log-file.ts'
import { launch } from '#bin/supervisor/processes.ts'
import { Trouble } from '#bin/supervisor/user-error.ts'
import { pidsOf } from './cpu.ts'

export interface Program {
  /** What it is called in messages and its log file. */
  readonly name: string
  readonly file: string
  readonly args: readonly string[]
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly stopSignal?: 'TERM' | 'INT'
}

export interface Started {
  readonly pid: number
  /** Resolves with the reason when it is gone; the log's last lines are in it. */
  readonly gone: Promise<string>
  stop(): Promise<void>
}

export interface Crew {
  /** A scratch folder that every user can enter, on a real disk (fsync counts). */
  readonly dir: string
  /** True when that folder is in memory: durable writes cost nothing then, and the figures are not comparable. */
  readonly isInMemory: boolean
  start(program: Program): Promise<Started>
  /** Something else to be undone at the end. */
  defer(undo: () => Promise<void>): void
  end(): Promise<void>
}

const STOP_GRACE_MS = 10_000
const TMPFS_MAGIC = 0x01021994
/** Not under /tmp, which is in memory on many machines. */
const SCRATCH = '/var/tmp/mailstead-bench-'

export function createCrew(): Crew {
  const dir = mkdtempSync(SCRATCH)
  chmodSync(dir, 0o755)
  mkdirSync(join(dir, 'log'))
  const undos: (() => Promise<void>)[] = []
  let ending: Promise<void> | null = null
  const unwind = async (): Promise<void> => {
    for (let undo = undos.pop(); undo !== undefined; undo = undos.pop()) {
      await undo().catch((error: unknown) => process.stderr.write(`bench: while ending: ${String(error)}\n`))
    }
    rmSync(dir, { recursive: true, force: true })
  }
  return {
    dir,
    isInMemory: statfsSync(dir).type === TMPFS_MAGIC,
    defer: (undo) => {
      undos.push(undo)
    },
    end: () => (ending ??= unwind()),
    start: async (program) => {
      if (ending !== null) throw new Trouble(`${program.name} is not started: the benchmark is ending`)
      const started = await startProgram(program, join(dir, 'log', `${program.name}.log`))
      undos.push(() => started.stop())
      return started
    },
  }
}

async function startProgram(program: Program, logFile: string): Promise<Started> {
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
  const tie = leash(running.pid, signal)
  let stopping: Promise<void> | null = null
  const stop = async (): Promise<void> => {
    const tree = pidsOf(running.pid)
    await running.stop()
    tie.release()
    tree.forEach(kill)
  }
  return {
    pid: running.pid,
    gone: running.exited.then((reason) => `${program.name} ended: ${reason}\n${lastLines(logFile, 15)}`),
    stop: () => (stopping ??= stop()),
  }
}

/** Descendants that outlived their parent; those that did not are gone already. */
function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // Gone: that is what was wanted.
  }
}
