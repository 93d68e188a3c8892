/**
 * A long-running role in this process: started, told ready (IPC, when a supervisor listens), stopped as `stop-signal.ts` says. A second signal ends it at once; a stop that takes over 30 s ends with exit code 1. `DATA_DIR/run/<name>.pid`
 * says which process it is.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { reasonOf } from '#bin/supervisor/user-error.ts'
import { aborted, watchForStop } from './stop-signal.ts'

/** What a main answers. */
interface Service {
  stop(): Promise<void>
}

const LONGEST_STOP_MS = 30_000

/** Runs a role until it is told to stop, which `start` hears too: what it waits for may never come. Answers the exit code. */
export async function runRole(
  name: string,
  dataDir: string,
  start: (stop: AbortSignal) => Promise<Service>,
): Promise<number> {
  process.title = `bin/mailstead ${name}`
  const stop = watchForStop()
  stop.addEventListener('abort', () => setTimeout(giveUp, LONGEST_STOP_MS, name).unref(), { once: true })
  const file = writePid(name, dataDir)
  try {
    const service = await start(stop)
    if (!stop.aborted) process.send?.('ready')
    await aborted(stop)
    await service.stop()
    return 0
  } finally {
    removePid(file)
    if (process.connected) process.disconnect()
  }
}

function giveUp(name: string): void {
  process.stderr.write(`mailstead ${name}: did not stop within ${LONGEST_STOP_MS / 1000} s\n`)
  process.exit(1)
}

/** A folder that cannot be written, as on a full disk, is no reason not to run. */
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
