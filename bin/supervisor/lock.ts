/**
 * One supervisor per data folder. The lock is a file with the identity of its holder, made by a link so that it never exists without
 * one; the lock of a process that is gone (kill -9, power cut) is moved away and taken.
 */
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { identify, isAlive } from './process-id.ts'

export interface Lock {
  release(): void
}

/** The lock, or the pid of the living process that has it. Throws when the folder cannot be written. */
export function takeLock(file: string): Lock | number {
  const mine = `${file}.${process.pid}`
  for (;;) {
    writeFileSync(mine, identify(process.pid) ?? '')
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
    if (holder !== null) dropStale(file, holder)
  }
}

/** The identity of a lock's holder, dead or alive; null when there is no lock. */
export function lockHolder(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null
  }
}

/** Moves a dead holder's lock away. A twin may have taken it in between: what was moved is looked at, and put back if it lives. */
function dropStale(file: string, holder: string): void {
  const aside = `${file}.stale.${process.pid}`
  try {
    renameSync(file, aside)
    if (lockHolder(aside) !== holder) linkSync(aside, file)
  } catch {
    // Gone, or taken again, in between: the next round sees.
  }
  rmSync(aside, { force: true })
}
