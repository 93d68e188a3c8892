/**
 * The log file of one child: appended, and moved on to .1, .2 … when it is full, so that logs never fill the disk. What cannot be
 * written (disk full) is dropped: a log must not end the service.
 */
import { closeSync, fstatSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs'

const FULL_BYTES = 32 * 1024 * 1024
const KEPT = 4

export interface LogFile {
  write(chunk: Buffer): void
  close(): void
}

/** Opens a log for appending. `fullBytes` is when it moves on. */
export function openLogFile(file: string, fullBytes: number = FULL_BYTES): LogFile {
  let fd = openSync(file, 'a', 0o640)
  let size = fstatSync(fd).size
  const moveOn = (): void => {
    closeSync(fd)
    for (let n = KEPT; n > 0; n -= 1) rename(n === 1 ? file : `${file}.${n - 1}`, `${file}.${n}`)
    fd = openSync(file, 'a', 0o640)
    size = 0
  }
  return {
    write: (chunk) => {
      try {
        if (size >= fullBytes) moveOn()
        size += writeSync(fd, chunk)
      } catch {
        // Dropped; see above.
      }
    },
    close: () => closeSync(fd),
  }
}

/** The last lines of a file; what is missing or unreadable is empty. */
export function lastLines(file: string, count: number): string {
  try {
    return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-count).join('\n')
  } catch {
    return ''
  }
}

function rename(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch {
    rmSync(to, { force: true })
  }
}
