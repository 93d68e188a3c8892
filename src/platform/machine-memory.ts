/** The memory of the machine, or of the container (cgroup) if that has less, in bytes. */
import { totalmem } from 'node:os'

/** Below this there is no room for a process of each role. */
const SMALL_BYTES = 2 ** 30

export function machineMemory(): number {
  // 0 or an enormous number where nothing limits it
  const limit = process.constrainedMemory()
  return limit > 0 ? Math.min(totalmem(), limit) : totalmem()
}

export function isSmallMachine(bytes = machineMemory()): boolean {
  return bytes < SMALL_BYTES
}
