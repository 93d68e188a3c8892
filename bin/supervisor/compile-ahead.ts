/**
 * What the roles run is compiled once, in a process that ends, while the stores start: after an installation each role would do it anew, all
 * at the same time, and keep the memory that it takes for as long as it runs. A failure is told by the roles, which load the same.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

const PROGRAM = join(import.meta.dirname, '../mailstead.ts')

/** Resolves when it is done, one way or another. */
export async function compileAhead(): Promise<void> {
  const child = spawn(process.execPath, [...process.execArgv, PROGRAM, 'compile'], { stdio: 'ignore' })
  await once(child, 'exit').catch(() => undefined)
}
