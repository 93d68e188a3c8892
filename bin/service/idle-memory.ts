/**
 * Returns the memory that a process no longer needs once it is idle: what its start needed (parsed schemas,
 * certificates, code that ran once), and what a burst left behind (2,000 opened streams of changes, a campaign). V8
 * would do so when the heap fills, which an idle process does not reach in days. One collection stops the process for
 * 40 to 80 ms, so a busy process is left alone, and so is one that has hardly grown since the last collection.
 *
 * The memory of the start is returned once, busy or not, long enough after it that a process which is started often, or
 * for a moment, does not pay for it. A small machine does not have the memory so long.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { isSmallMachine } from '#src/platform/machine-memory.ts'

const AFTER_START_MS = 30_000
const AFTER_START_ON_SMALL_MACHINE_MS = 1000
const CHECK_INTERVAL_MS = 5000
/** A collection of 80 ms in this time is 0.3 % of a core. */
const MIN_INTERVAL_MS = 30_000
/** Of one core. 2,000 streams without changes use 0.02 to 0.04. */
const IDLE_CPU_SHARE = 0.05
/** The young generation alone grows by 30 MB under load. */
const WORTH_COLLECTING_BYTES = 16 * 2 ** 20

export interface MemoryReading {
  /** Monotonic. */
  readonly atMs: number
  /** Of the process, since its start. */
  readonly cpuMs: number
  /** Resident memory of the process. V8 keeps pages of a heap that has shrunk, so the size of the heap hides them. */
  readonly residentBytes: number
}

/** Starts the timers; they do not hold the process. */
export function releaseIdleMemory(
  afterStartMs = isSmallMachine() ? AFTER_START_ON_SMALL_MACHINE_MS : AFTER_START_MS,
): void {
  setTimeout(() => {
    collectGarbage()
    let [previous, collected] = [readMemory(), readMemory()]
    setInterval(() => {
      const now = readMemory()
      if (isWorthCollecting(now, previous, collected)) {
        collectGarbage()
        collected = readMemory()
      }
      previous = readMemory()
    }, CHECK_INTERVAL_MS).unref()
  }, afterStartMs).unref()
}

/** `previous` is the last reading, `collected` the one after the last collection. */
export function isWorthCollecting(now: MemoryReading, previous: MemoryReading, collected: MemoryReading): boolean {
  const cpuShare = (now.cpuMs - previous.cpuMs) / (now.atMs - previous.atMs)
  return (
    cpuShare < IDLE_CPU_SHARE &&
    now.atMs - collected.atMs >= MIN_INTERVAL_MS &&
    now.residentBytes - collected.residentBytes >= WORTH_COLLECTING_BYTES
  )
}

function readMemory(): MemoryReading {
  const { user, system } = process.cpuUsage()
  return {
    atMs: performance.now(),
    cpuMs: (user + system) / 1000,
    residentBytes: process.memoryUsage.rss(),
  }
}

/** A plain `gc()` keeps the young generation at its size, and its free pages in a pool. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as NonNullable<typeof globalThis.gc>
  collect({ type: 'major', flavor: 'last-resort' })
}
