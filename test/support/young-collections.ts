/** Measures what a program leaves in memory that only a full collection frees (docs/decisions/125). */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const COLLECT = `
  gc({ type: 'minor' })
  gc({ type: 'minor' })
  console.log(process.memoryUsage().arrayBuffers)
`

/**
 * Runs `program`, the text of a module, in `folder` with `args` as `process.argv.slice(1)`. Returns how many bytes of
 * buffers are left after two young collections.
 */
export async function countBytesLeft(folder: string, program: string, args: readonly string[] = []): Promise<number> {
  const options = ['--expose-gc', '--input-type=module', '-e', `${program};${COLLECT};process.exit()`]
  const { stdout } = await promisify(execFile)(process.execPath, [...options, ...args], { cwd: folder })
  return Number(stdout)
}
