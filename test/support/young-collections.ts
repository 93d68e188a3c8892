/** Measures what a program leaves in memory that only a full collection frees (docs/decisions/125). */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const COLLECT = `
  gc({ type: 'minor' })
  gc({ type: 'minor' })
  console.log(process.memoryUsage().arrayBuffers)
`

/**
 * A full collection that runs beside the program marks what it finds in use, and what is stored meanwhile. That stays
 * until the next one, so a measurement would depend on when it started. Without incremental marking it runs at once.
 */
const NODE_OPTIONS = ['--expose-gc', '--no-incremental-marking', '--input-type=module']

/**
 * Runs `program`, the text of a module, in `folder` with `args` as `process.argv.slice(1)`. Returns how many bytes of
 * buffers are left after two young collections.
 */
export async function countBytesLeft(folder: string, program: string, args: readonly string[] = []): Promise<number> {
  const options = [...NODE_OPTIONS, '-e', `${program};${COLLECT};process.exit()`]
  const { stdout } = await promisify(execFile)(process.execPath, [...options, ...args], { cwd: folder })
  return Number(stdout)
}
