/**
 * Runs a long-running role in this process: starts it, reports over IPC or to systemd when it is ready, and stops it by
 * `stop-signal.ts`. While it runs alone, it shows that it works (bin/service/heartbeat.ts); under a supervisor, that
 * does so for all roles. A second signal exits immediately; a stop that takes more than 30 s exits with 1.
 * `DATA_DIR/run/<name>.pid` has its pid.
 */
import { chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startHeartbeat } from '#bin/service/heartbeat.ts'
import { connectServiceManager } from '#bin/service/service-manager.ts'
import { releaseIdleMemory } from '#bin/service/idle-memory.ts'
import { reasonOf, UserError } from '#bin/supervisor/user-error.ts'
import { UnsuitableStoreError } from '#src/stores/store-errors.ts'
import type { SystemAccount } from '#bin/supervisor/account.ts'
import { removeOrEmpty } from '#src/platform/files.ts'
import { aborted, watchForStop } from './stop-signal.ts'

/** The running role that a `main` returns. */
export interface RoleService {
  /** Settings with which other roles reach this one. The supervisor gives them to those that it starts later. */
  readonly announced?: Readonly<Record<string, string>>
  stop(): Promise<void>
}

interface RoleFiles {
  readonly dataDir: string
  readonly healthFile?: string | null
}

const MAX_STOP_MS = 30_000
/** What a store that hangs left behind, such as a repeated write, must not keep the process. */
const LEFTOVER_MS = 300

/**
 * Runs a role until the stop signal, which also aborts `start`, since that may wait for a store. Returns the exit code.
 */
export async function runRole(
  name: string,
  { dataDir, healthFile = null }: RoleFiles,
  start: (stop: AbortSignal) => Promise<RoleService>,
  account: SystemAccount | null = null,
): Promise<number> {
  process.title = `bin/mailstead ${name}`
  const manager = connectServiceManager()
  const stop = watchForStop()
  stop.addEventListener('abort', () => setTimeout(exitAfterTimeout, MAX_STOP_MS, name).unref(), { once: true })
  const file = writePid(name, dataDir, account)
  try {
    const service = await start(stop)
    if (!stop.aborted) process.send?.({ ready: true, announced: service.announced ?? {} })
    manager.ready()
    releaseIdleMemory()
    const heartbeat = startHeartbeat(process.send === undefined ? healthFile : null, manager)
    await aborted(stop)
    manager.stopping()
    await service.stop()
    heartbeat.stop()
    setTimeout(() => process.exit(0), LEFTOVER_MS).unref()
    return 0
  } catch (error) {
    throw error instanceof UnsuitableStoreError ? UserError.of(error.message) : error
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
function writePid(name: string, dataDir: string, account: SystemAccount | null): string {
  const file = join(dataDir, 'run', `${name}.pid`)
  try {
    mkdirSync(join(dataDir, 'run'), { recursive: true })
    writeFileSync(file, `${process.pid}\n`)
    if (account !== null) chownSync(file, account.uid, account.gid)
  } catch (error) {
    process.stderr.write(`mailstead ${name}: ${file} cannot be written: ${reasonOf(error)}\n`)
  }
  return file
}

/** Another process of the same role may have written its own since. */
function removePid(file: string): void {
  try {
    if (Number(readFileSync(file, 'utf8')) !== process.pid) return
    removeOrEmpty(file)
  } catch {
    // Gone already.
  }
}
