/**
 * Returns the memory that only the start of a process needed: parsed schemas, certificates, code that ran once. V8
 * would do so when the heap fills, which an idle process does not reach in days (api: 98 MB, then 67 MB). It is one
 * collection, which stops the process for about 50 ms, long enough after the start that a process which is started
 * often, or for a moment, does not pay for it. A small machine does not have the memory so long.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { isSmallMachine } from '#src/platform/machine-memory.ts'

const AFTER_MS = 30_000
const ON_SMALL_MACHINE_MS = 1000

export function releaseStartMemory(afterMs = isSmallMachine() ? ON_SMALL_MACHINE_MS : AFTER_MS): void {
  setTimeout(() => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    collect()
  }, afterMs).unref()
}
