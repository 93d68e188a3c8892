/**
 * The log file of one child process. The child inherits the descriptor and writes the file itself. If the log went
 * through the supervisor, a child that outlives it could not log, and might hang at its stop. The supervisor reads new
 * lines, and copies a full file to .1 (.1 to .2 and so on) and truncates it; a line written in that moment may be lost.
 */
import {
  closeSync,
  copyFileSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
} from 'node:fs'

const MAX_BYTES = 32 * 1024 * 1024
const ROTATED_FILES = 4
/** If more was written since the last read, the older part is skipped. */
const MAX_READ_BYTES = 1024 * 1024

export interface LogFile {
  /** For the child's stdout and stderr; opened for appending. */
  readonly fd: number
  /** Returns what was written since the last call. */
  readonly read: () => Buffer
  readonly close: () => void
}

/** Opens a log, which is rotated at `fullBytes`. */
export function openLogFile(file: string, fullBytes: number = MAX_BYTES): LogFile {
  const fd = openSync(file, 'a+', 0o640)
  let offset = fstatSync(fd).size
  const read = (): Buffer => {
    const { size } = fstatSync(fd)
    const start = Math.max(offset > size ? 0 : offset, size - MAX_READ_BYTES)
    const text = Buffer.alloc(size - start)
    const length = text.length === 0 ? 0 : readSync(fd, text, 0, text.length, start)
    offset = start + length
    if (size >= fullBytes && rotate(file, fd)) offset = 0
    return text.subarray(0, length)
  }
  return { fd, read, close: () => closeSync(fd) }
}

/** The last lines of a file; empty if it is missing or unreadable. */
export function lastLines(file: string, count: number): string {
  try {
    return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-count).join('\n')
  } catch {
    return ''
  }
}

/** Returns false if that fails (disk full); the file then continues to grow. */
function rotate(file: string, fd: number): boolean {
  try {
    for (let n = ROTATED_FILES; n > 1; n -= 1) rename(`${file}.${n - 1}`, `${file}.${n}`)
    copyFileSync(file, `${file}.1`)
    ftruncateSync(fd)
    return true
  } catch {
    return false
  }
}

function rename(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch {
    rmSync(to, { force: true })
  }
}
