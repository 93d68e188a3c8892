/**
 * Runs a long-running role in this process: starts it, reports over IPC when it is ready, and stops it by
 * `stop-signal.ts`. A second signal exits immediately; a stop that takes more than 30 s exits with 1.
 * `DATA_DIR/run/<name>.pid` has its pid.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { reasonOf } from '#bin/supervisor/user-error.ts'
import { aborted, watchForStop } from './stop-signal.ts'

/** The running role that a `main` returns. */
interface RoleService {
  /** Settings with which other roles reach this one. The supervisor gives them to those that it starts later. */
  readonly announced?: Readonly<Record<string, string>>
  stop(): Promise<void>
}

const MAX_STOP_MS = 30_000
/** What a store that hangs left behind, such as a repeated write, must not keep the process. */
const LEFTOVER_MS = 300

/**
 * Runs a role until the stop signal, which also aborts `start`, since that may wait for a store. Returns the exit code.
 */
export async function runRole(
  name: string,
  dataDir: string,
  start: (stop: AbortSignal) => Promise<RoleService>,
): Promise<number> {
  process.title = `bin/mailstead ${name}`
  const stop = watchForStop()
  stop.addEventListener('abort', () => setTimeout(exitAfterTimeout, MAX_STOP_MS, name).unref(), { once: true })
  const file = writePid(name, dataDir)
  try {
    const service = await start(stop)
    if (!stop.aborted) process.send?.({ ready: true, announced: service.announced ?? {} })
    await aborted(stop)
    await service.stop()
    setTimeout(() => process.exit(0), LEFTOVER_MS).unref()
    return 0
  } finally {
    removePid(file)
    if (process.connected) process.disconnect()
  }
}

function exitAfterTimeout(name: string): void {
  process.stderr.write(`mailstead ${name}: did not stop within ${MAX_STOP_MS / 1000} s\n`)
  process.exit(1)
}

/** A failed write, as on a full disk, does not prevent the role from running. */
function writePid(name: string, dataDir: string): string {
  const file = join(dataDir, 'run', `${name}.pid`)
  try {
    mkdirSync(join(dataDir, 'run'), { recursive: true })
    writeFileSync(file, `${process.pid}\n`)
  } catch (error) {
    process.stderr.write(`mailstead ${name}: ${file} cannot be written: ${reasonOf(error)}\n`)
  }
  return file
}

/** Another process of the same role may have written its own since. */
function removePid(file: string): void {
  try {
    if (Number(readFileSync(file, 'utf8')) === process.pid) rmSync(file)
  } catch {
    // Gone already.
  }
}
