/**
 * Allows one supervisor per data folder. The lock is a file with the identity of its holder. It is created by a hard
 * link, so it never exists without content. The lock of a dead process (kill -9, power failure) is removed and
 * acquired.
 */
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { identifyProcess, isAlive } from './process-id.ts'

export interface DataLock {
  release(): void
}

/** Returns the lock, or the pid of the running process that holds it. @throws if the folder is not writable. */
export function acquireLock(file: string): DataLock | number {
  const mine = `${file}.${process.pid}`
  for (;;) {
    writeFileSync(mine, identifyProcess(process.pid) ?? '')
    try {
      linkSync(mine, file)
      return { release: () => rmSync(file, { force: true }) }
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    } finally {
      rmSync(mine, { force: true })
    }
    const holder = lockHolder(file)
    if (holder !== null && isAlive(holder)) return Number(holder.split(' ')[0])
    if (holder !== null) removeStale(file, holder)
  }
}

/** The identity of the holder, which may be dead; null if no lock exists. */
export function lockHolder(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null
  }
}

/**
 * Renames the lock of a dead holder. Another process may have acquired it in between: so the renamed file is checked,
 * and put back if its holder is another one.
 */
function removeStale(file: string, holder: string): void {
  const aside = `${file}.stale.${process.pid}`
  try {
    renameSync(file, aside)
    if (lockHolder(aside) !== holder) linkSync(aside, file)
  } catch {
    // removed or acquired in between: the caller tries again
  }
  rmSync(aside, { force: true })
}
