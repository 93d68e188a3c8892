/**
 * Compiles the code of the roles once, in a separate process, while the stores start. Otherwise each role would compile
 * it after an installation, all at the same time, and keep the memory. Errors are ignored here: the roles load the same
 * code and report them.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

const PROGRAM = join(import.meta.dirname, '../mailstead.ts')

/** Resolves when the process has ended, whether or not it succeeded. */
export async function compileAhead(): Promise<void> {
  const child = spawn(process.execPath, [...process.execArgv, PROGRAM, 'compile'], { stdio: 'ignore' })
  await once(child, 'exit').catch(() => undefined)
}
