/**
 * The log file of one child. The child writes it itself, through a descriptor that it inherits: a log that went through the supervisor
 * would break with it, and then the child could neither log nor, with a logger that insists, stop. The supervisor reads what is new,
 * and when the file is full copies it to .1 (.1 to .2 …) and empties it; a line written just then may be lost.
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

const FULL_BYTES = 32 * 1024 * 1024
const KEPT = 4
/** Of a flood, only the newest part is read. */
const MOST_READ = 1024 * 1024

export interface LogFile {
  /** For the child's stdout and stderr; opened for appending. */
  readonly fd: number
  /** What was written since the last call. */
  readonly read: () => Buffer
  readonly close: () => void
}

/** Opens a log. `fullBytes` is when it moves on. */
export function openLogFile(file: string, fullBytes: number = FULL_BYTES): LogFile {
  const fd = openSync(file, 'a+', 0o640)
  let offset = fstatSync(fd).size
  const read = (): Buffer => {
    const { size } = fstatSync(fd)
    const start = Math.max(offset > size ? 0 : offset, size - MOST_READ)
    const text = Buffer.alloc(size - start)
    const length = text.length === 0 ? 0 : readSync(fd, text, 0, text.length, start)
    offset = start + length
    if (size >= fullBytes && moveOn(file, fd)) offset = 0
    return text.subarray(0, length)
  }
  return { fd, read, close: () => closeSync(fd) }
}

/** The last lines of a file; what is missing or unreadable is empty. */
export function lastLines(file: string, count: number): string {
  try {
    return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-count).join('\n')
  } catch {
    return ''
  }
}

/** False when that failed (disk full): the file then goes on as it is. */
function moveOn(file: string, fd: number): boolean {
  try {
    for (let n = KEPT; n > 1; n -= 1) rename(`${file}.${n - 1}`, `${file}.${n}`)
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
